import { expect, test } from 'vitest'
import { summarise } from './statement-summary.ts'

test.each([
  ['\n SELECT id, body FROM "entities" WHERE id IN (?)', 'SELECT', 'entities'],
  ['(SELECT `a` FROM `index_a` WHERE `a` = ?) UNION ALL (SELECT `a` FROM `index_a`)', 'SELECT', 'index_a'],
  ['INSERT INTO `entities` (id) VALUES (?, (SELECT ? FROM `looseleaf_meta`))', 'INSERT', 'entities'],
  ['update "entities" SET updated = ? WHERE id = ?', 'UPDATE', 'entities'],
  ['DELETE FROM `index_a` WHERE `a` = ?', 'DELETE', 'index_a'],
  ['CREATE TABLE IF NOT EXISTS "entities" ("id" BLOB)', 'CREATE', 'entities'],
  ['CREATE INDEX IF NOT EXISTS "entities_updated" ON "entities" ("updated")', 'CREATE', 'entities'],
  ['DROP TABLE IF EXISTS `index_a`', 'DROP', 'index_a'],
  ['/*M!1 SET STATEMENT a = 1 FOR */ UPDATE `looseleaf_meta` SET a = 1', 'UPDATE', 'looseleaf_meta'],
  ['START TRANSACTION', 'START', undefined],
  ['START TRANSACTION; INSERT INTO `index_a` (a) VALUES (?); COMMIT', 'TRANSACTION', 'index_a'],
  ['BEGIN IMMEDIATE; INSERT INTO "index_a" (a) VALUES (?); COMMIT', 'TRANSACTION', 'index_a'],
  [
    'START TRANSACTION; INSERT INTO `index_a` (a) VALUES (?); UPDATE `entities` e STRAIGHT_JOIN (SELECT 1 AS id) n ON e.id = n.id SET e.body = ?; DELETE x FROM (SELECT 1 AS id) n STRAIGHT_JOIN `index_a` x ON x.a = n.id STRAIGHT_JOIN `entities` e ON e.id = n.id; COMMIT',
    'TRANSACTION',
    'entities',
  ],
  ['', '', undefined],
])('summarise finds operation and table: %s', (text, operation, table) => {
  expect(summarise(text)).toEqual({ operation, table })
  // The second call reads the cache.
  expect(summarise(text)).toEqual({ operation, table })
})

test('summarise finds the second table of a join', () => {
  const text = 'SELECT x.a FROM `index_a` AS `x` LEFT JOIN `entities` AS `e` ON e.id = x.entity_id'
  expect(summarise(text)).toEqual({ operation: 'SELECT', table: 'index_a', joined: 'entities' })
})
