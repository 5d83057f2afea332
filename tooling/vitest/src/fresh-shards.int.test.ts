import { createConnection } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { freshShards } from './fresh-shards.ts'

test('fresh shards are empty, separate databases, and gone after the drop', async () => {
  const shards = await freshShards(3)
  expect(new Set(shards.urls).size).toBe(3)
  for (const url of shards.urls) expect(await tablesOf(url)).toEqual([])
  await shards.drop()
  for (const url of shards.urls) await expect(tablesOf(url)).rejects.toThrow(/Unknown database/)
  await shards.drop()
})

async function tablesOf(url: string): Promise<unknown> {
  const connection = await createConnection(url)
  try {
    const [rows] = await connection.query('SHOW TABLES')
    return rows
  } finally {
    connection.destroy()
  }
}
