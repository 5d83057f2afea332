import Database from 'better-sqlite3'
import { CompiledQuery } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { createConnections, type Connection } from './connection.ts'

function open() {
  const database = new Database(':memory:')
  onTestFinished(() => void database.close())
  database.exec(`
    PRAGMA foreign_keys = ON;
    CREATE TABLE one (id INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE other (one INTEGER REFERENCES one DEFERRABLE INITIALLY DEFERRED, text TEXT) STRICT`)
  const { acquire } = createConnections({ database, deadlineMs: 1_000 })
  const run = (connection: Connection, sql: string): Promise<unknown> =>
    connection.executeQuery(CompiledQuery.raw(sql))
  return { database, acquire, run }
}

test('a failed COMMIT leaves no open transaction that would undo the writes of others', async () => {
  const { database, acquire, run } = open()
  const connection = acquire()
  await connection.begin()
  await run(connection, 'INSERT INTO other (one) VALUES (7)')
  const committed = connection.end('COMMIT')
  const another = run(acquire(), 'INSERT INTO one VALUES (1)')
  await expect(committed).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_FOREIGNKEY' })
  await another
  await connection.end('ROLLBACK')
  expect(database.inTransaction).toBe(false)
  expect(database.prepare('SELECT id FROM one').all()).toEqual([{ id: 1 }])
  expect(database.prepare('SELECT one FROM other').all()).toEqual([])
})

test('a ROLLBACK after a failed COMMIT does not end the transaction of another call', async () => {
  const { acquire, run, database } = open()
  const [first, second] = [acquire(), acquire()]
  await first.begin()
  await run(first, 'INSERT INTO other (one) VALUES (7)')
  await expect(first.end('COMMIT')).rejects.toThrow()
  await second.begin()
  await run(second, 'INSERT INTO one VALUES (1)')
  await first.end('ROLLBACK')
  await second.end('COMMIT')
  expect(database.prepare('SELECT id FROM one').all()).toEqual([{ id: 1 }])
})

test('a transaction that SQLite has rolled back by itself ends without another error', async () => {
  const { database, acquire, run } = open()
  database.pragma(`max_page_count = ${database.pragma('page_count', { simple: true }) as number}`)
  const connection = acquire()
  await connection.begin()
  const full = (async () => {
    for (let n = 0; n < 100; n++)
      await run(connection, `INSERT INTO other (text) VALUES ('${'x'.repeat(10_000)}')`)
  })()
  await expect(full).rejects.toMatchObject({ code: 'SQLITE_FULL' })
  await connection.end('ROLLBACK')
  expect(database.inTransaction).toBe(false)
})
