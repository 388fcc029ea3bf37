Feature: Soft delete
  With a grace period the files of a dropped table stay for a while.
  Until it ends the drop can be taken back, and the table is as it was.

  Scenario: A dropped table is gone for everybody, and its files stay
    Given a server with a grace period of 1 hour
    And the table orders
    When orders is dropped with purge
    Then HEAD of orders answers 404
    And no table is listed
    And the job of orders is PENDING
    And every file of orders is still there

  Scenario Outline: A drop is taken back
    Given a server with a grace period of 1 hour
    And the table orders
    When orders is dropped with purge
    And the drop of orders is taken back by <way>
    Then orders is exactly as it was
    And every file of orders is still there
    And no job is open

    Examples:
      | way              |
      | HTTP             |
      | the command line |

  Scenario: A table that came back is dropped again
    Given a server with a grace period of 1 hour
    And the table orders
    When orders is dropped with purge
    And the drop of orders is taken back by HTTP
    And orders is dropped with purge
    Then HEAD of orders answers 404
    When the drop of orders is taken back by HTTP
    Then orders is exactly as it was

  Scenario: A table comes back under another name if its own is taken
    Given a server with a grace period of 1 hour
    And the table orders
    When orders is dropped with purge
    And a new table orders is created
    Then the drop of orders cannot be taken back: Table already exists
    When the drop of orders is taken back as old_orders
    Then old_orders is exactly as the old orders was
    And orders is exactly as it was

  Scenario: Files are deleted after the grace period
    Given a server with a grace period of 1 second
    And the table orders
    When orders is dropped with purge
    Then in the end the job of orders is SUCCEEDED
    And nothing is left of orders in the storage
    And the drop of orders cannot be taken back: its files are deleted

  Scenario Outline: An operator does not wait for the end of a grace period
    Given a server with a grace period of 1 hour
    And the table orders
    When orders is dropped with purge
    And the grace period of orders is ended by <way>
    Then in the end the job of orders is SUCCEEDED
    And nothing is left of orders in the storage
    And the drop of orders cannot be taken back: its files are deleted

    Examples:
      | way              |
      | HTTP             |
      | the command line |

  Scenario: A drop cannot be taken back once files are being deleted
    Given a server with a grace period of 1 second
    And the table orders
    And a file of orders cannot be deleted
    When orders is dropped with purge
    Then in the end the job of orders waits for its next attempt
    And the drop of orders cannot be taken back: its files are being deleted
    And HEAD of orders answers 404
