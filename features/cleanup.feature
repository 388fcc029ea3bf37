Feature: Cleanup
  A purge deletes what the table's metadata leads to, all of it, and nothing else.

  Scenario: Nothing is left behind
    Given a server
    And the table orders
    And the files of orders have hidden twins with checksums
    When orders is dropped with purge
    Then in the end the job of orders is SUCCEEDED
    And nothing is left of orders in the storage
    And the job of orders has deleted every file

  Scenario: Data files of a table with gc.enabled=false stay
    Given a server
    And the table orders with gc.enabled=false
    When orders is dropped with purge
    Then in the end only the data files of orders are left

  Scenario: Files that the table does not know stay
    Given a server
    And the table orders
    And other files in the folders of orders
    When orders is dropped with purge
    Then in the end only the other files of orders are left

  Scenario: Files of another table stay
    Given a server
    And the table customers
    And the table orders
    And orders has taken up a data file of customers
    When orders is dropped with purge
    Then in the end nothing is left of orders in the storage
    And every file of customers is still there
    And customers has its rows

  Scenario: Files that another table refers to stay until it goes
    Given a server
    And the table customers
    And the table orders
    And customers has taken up a data file of orders
    When orders is dropped with purge
    Then in the end the job of orders is SUCCEEDED
    And the job of orders has kept 1 file
    And customers has its rows
    When customers is dropped with purge
    Then in the end the job of customers is SUCCEEDED
    And the job of customers has left 1 file outside of its locations
    And 1 file is left of orders in the storage
    And nothing is left of customers in the storage

  Scenario: Files that another table refers to go with it where purges delete in the whole catalog
    Given a server
    And the table customers
    And the table orders
    And customers has taken up a data file of orders
    And the catalog's owner lets purges delete in the whole catalog
    When orders is dropped with purge
    Then in the end the job of orders is SUCCEEDED
    And the job of orders has kept 1 file
    When customers is dropped with purge
    Then in the end the job of customers is SUCCEEDED
    And the job of customers has left 0 file outside of its locations
    And 0 file is left of orders in the storage
    And nothing is left of customers in the storage

  Scenario: Files that somebody else deleted are no obstacle
    Given a server
    And the table orders
    And somebody else has deleted a data file of orders and its manifest
    When orders is dropped with purge
    Then in the end the job of orders is SUCCEEDED
    And nothing is left of orders in the storage
    And the job of orders has deleted all other files

  Scenario: A purge outlives its server
    Given a server of its own
    And the table orders
    And a file of orders cannot be deleted
    When orders is dropped with purge
    And the server is killed
    And the obstacle is removed
    And the server starts again
    Then in the end nothing is left of orders in the storage

  Scenario: A catalog that is dropped by force takes its tables along
    Given a server
    And the table orders
    And the table customers
    When the catalog is dropped by force
    Then the catalog is gone
    And in the end nothing is left of orders in the storage
    And in the end nothing is left of customers in the storage

  Scenario: A purge outlives its catalog
    Given a server
    And the table orders
    And a file of orders cannot be deleted
    When orders is dropped with purge
    Then in the end the job of orders waits for its next attempt
    When the catalog is dropped by force
    Then the catalog is gone
    When the obstacle is removed
    And the job of orders is tried again by the command line
    Then in the end the job of orders is SUCCEEDED
    And nothing is left of orders in the storage

  Scenario: A metalake that is dropped by force takes its tables along
    Given a server and a metalake of its own
    And the table orders
    When the metalake is dropped by force
    Then the metalake is gone
    And in the end nothing is left of orders in the storage

  Scenario: A purge outlives its metalake
    Given a server and a metalake of its own
    And the table orders
    And a file of orders cannot be deleted
    When orders is dropped with purge
    Then in the end the job of orders waits for its next attempt
    When the metalake is dropped by force
    Then the metalake is gone
    When the obstacle is removed
    And the job of orders is tried again by the command line
    Then in the end nothing is left of orders in the storage
