Feature: Cleanup failure
  A file that cannot be deleted is never forgotten.
  The job stays open, tells which file and why, and ends well when the obstacle is gone.

  Scenario: A file cannot be deleted
    Given a server
    And the table orders
    And a file of orders cannot be deleted
    When orders is dropped with purge
    Then in the end the job of orders waits for its next attempt
    And the job of orders tells the file and the reason by HTTP
    And the job of orders tells the file and the reason by the command line
    And all other data files of orders are gone
    And what leads to the file of orders is still there

  Scenario Outline: The obstacle is removed
    Given a server
    And the table orders
    And a file of orders cannot be deleted
    When orders is dropped with purge
    Then in the end the job of orders waits for its next attempt
    When the obstacle is removed
    And the job of orders is tried again by <way>
    Then in the end the job of orders is SUCCEEDED
    And nothing is left of orders in the storage

    Examples:
      | way              |
      | HTTP             |
      | the command line |

  Scenario: A metadata file cannot be deleted
    Given a server
    And the table orders
    And a statistics file of orders cannot be deleted
    When orders is dropped with purge
    Then in the end the job of orders waits for its next attempt
    And the job of orders tells the file and the reason by HTTP
    And no data file of orders is left
    When the obstacle is removed
    And the job of orders is tried again by HTTP
    Then in the end the job of orders is SUCCEEDED
    And nothing is left of orders in the storage

  Scenario: Every attempt fails
    Given a server that tries 2 times
    And the table orders
    And a file of orders cannot be deleted
    When orders is dropped with purge
    Then in the end the job of orders is DEAD_LETTER
    And the job of orders counts 2 attempts
    And the job of orders tells the file and the reason by HTTP
    When the obstacle is removed
    And the job of orders is tried again by HTTP
    Then in the end the job of orders is SUCCEEDED
    And the job of orders counts 1 attempt
    And nothing is left of orders in the storage
