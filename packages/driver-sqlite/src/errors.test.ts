import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { sqliteFault } from './errors.ts'

test('an error of JavaScript itself is no fault of SQLite, and its message is not shown', () => {
  expect(sqliteFault(new TypeError('secret'))).toMatchObject({
    kind: 'STATEMENT_FAILED',
    message: expect.stringMatching(/failed with the error TypeError\. The fault is in the program/) as string,
    cause: { message: 'TypeError' },
  })
  expect(sqliteFault(new EvalError()).message).toMatch(/--disallow-code-generation-from-strings/)
})

test('the error for a value that does not fit an altered column names the column and its table', () => {
  const database = new Database(':memory:')
  database.exec('CREATE TABLE entities (id BLOB, version INTEGER) STRICT')
  let fault: unknown
  try {
    database.prepare('INSERT INTO entities (version) VALUES (?)').run('secret')
  } catch (error) {
    fault = sqliteFault(error)
  }
  database.close()
  expect(fault).toMatchObject({
    kind: 'STATEMENT_FAILED',
    message: expect.stringMatching(/^the column version of the table entities .*looseleaf schema/) as string,
  })
})
