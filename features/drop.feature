Feature: Drop
  A table that is dropped is gone for everybody at once, however many files it has.
  Its files are deleted afterwards if that was asked for; else they stay.

  Background:
    Given a server
    And the table orders

  Scenario: The answer does not wait for the files
    Given a file of orders cannot be deleted
    When orders is dropped with purge
    Then it is answered with 204 within 5 seconds
    And HEAD of orders answers 404
    And no table is listed

  Scenario: The files follow the table
    When orders is dropped with purge
    Then it is answered with 204 within 5 seconds
    And HEAD of orders answers 404
    And no table is listed
    And in the end nothing is left of orders in the storage

  Scenario: The name is free at once
    Given a file of orders cannot be deleted
    When orders is dropped with purge
    And a new table orders is created
    Then the new table orders shares no file with the old one
    And the new table orders has its rows when all else of the old one is deleted

  Scenario Outline: Files stay unless their deletion is asked for
    Given the table customers
    When orders is dropped with DELETE and "<query>"
    And customers is dropped with purge
    Then HEAD of orders answers 404
    And in the end nothing is left of customers in the storage
    And every file of orders is still there

    Examples:
      | query                |
      |                      |
      | purgeRequested=false |

  Scenario: Gravitino's protocol drops with purge too
    When orders is dropped with purge by way of Gravitino
    Then it is answered with 200 within 5 seconds
    And HEAD of orders answers 404
    And in the end nothing is left of orders in the storage

  Scenario: Gravitino's protocol keeps files by itself
    Given the table customers
    When orders is dropped without purge by way of Gravitino
    And customers is dropped with purge
    Then HEAD of orders answers 404
    And in the end nothing is left of customers in the storage
    And every file of orders is still there
