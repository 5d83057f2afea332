import { createLimitedUser, sendStatement } from '@looseleaf-tooling/vitest/limited-user'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { DataStore, defineIndex, mysqlShards } from 'looseleaf'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { createConnection } from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })

async function open(urls: readonly string[]): Promise<DataStore> {
  const store = await DataStore.open({ shards: mysqlShards(urls), indexes: [byLink], migrate: true })
  onTestFinished(() => store.close())
  return store
}

async function tablesOf(url: string): Promise<readonly string[]> {
  const connection = await createConnection(url)
  const [rows] = await connection.query<never[]>('SHOW TABLES').finally(() => connection.end())
  return rows.flatMap((row) => Object.values<string>(row))
}

const ENTITIES =
  'the table entities is not one of Looseleaf: it has the columns id INT (key), name TEXT, and Looseleaf needs added_id BIGINT UNSIGNED (key), id BINARY(16), updated DATETIME(6), version BIGINT UNSIGNED, body MEDIUMBLOB'

test('init and add refuse a database with a table entities of another program, and create nothing', async () => {
  const { urls } = await freshShards(2)
  const [own, foreign] = urls as [string, string]
  await sendStatement(foreign, 'CREATE TABLE entities (id INT PRIMARY KEY, name TEXT)')
  await sendStatement(foreign, "INSERT INTO entities VALUES (1, 'one')")
  const refused = { code: 'LAYOUT_MISMATCH', message: expect.stringContaining(ENTITIES) as string }
  await expect(open([foreign])).rejects.toMatchObject(refused)
  expect(await tablesOf(foreign)).toEqual(['entities'])

  const store = await open([own])
  for (const dryRun of [true, false])
    await expect(store.shards.add(foreign, { dryRun })).rejects.toMatchObject(refused)
  expect(await tablesOf(foreign)).toEqual(['entities'])
  expect(await store.shards.list()).toHaveLength(1)
})

test('an index table of another program is named before the first table is created', async () => {
  const { urls } = await freshShards(2)
  const [own, foreign] = urls as [string, string]
  await sendStatement(foreign, 'CREATE TABLE index_by_link (id INT PRIMARY KEY, link TEXT)')
  const store = await open([own])
  for (const dryRun of [true, false]) {
    await expect(store.shards.add(foreign, { dryRun })).rejects.toMatchObject({
      code: 'LAYOUT_MISMATCH',
      message: expect.stringMatching(
        /the table index_by_link .* id INT \(key\), link TEXT, .* needs link VARBINARY\(544\) \(key\)/,
      ),
    })
  }
  await expect(open([foreign])).rejects.toMatchObject({ code: 'LAYOUT_MISMATCH' })
  expect(await tablesOf(foreign)).toEqual(['index_by_link'])
})

test('tables that were made by hand fit, with columns of their own, and a user without CREATE adds them', async () => {
  const { urls } = await freshShards(2)
  const [own, other] = urls as [string, string]
  const store = await open([own])
  const [shard] = store.context.driver.shards
  const connection = await createConnection(other)
  for (const statement of shard!.schema(
    store.context.catalog.current().indexes.map((entry) => tableSpec(entry)),
  ))
    await connection.query(statement)
  await connection.query('ALTER TABLE entities ADD COLUMN note TEXT')
  await connection.end()
  const user = await createLimitedUser(other, 'SELECT, INSERT, UPDATE, DELETE')
  onTestFinished(() => user.drop())
  for (const dryRun of [true, false])
    expect(await store.shards.add(user.url, { dryRun })).toMatchObject({ number: 1, added: !dryRun })
})

test.each([
  ['SELECT', ['INSERT', 'UPDATE', 'DELETE', 'CREATE']],
  ['SELECT, INSERT, UPDATE, DELETE', ['CREATE']],
  ['SELECT, INSERT, UPDATE, CREATE', ['DELETE']],
])(
  'an add and its dry run by a user with %s name the missing rights, and create nothing',
  async (rights, missing) => {
    const { urls } = await freshShards(2)
    const [own, other] = urls as [string, string]
    const store = await open([own])
    const user = await createLimitedUser(other, rights)
    onTestFinished(() => user.drop())
    for (const dryRun of [true, false]) {
      const error: unknown = await store.shards.add(user.url, { dryRun }).catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'SHARD_DENIED' })
      const { message } = error as Error
      expect(Array.from(message.matchAll(/the privilege (\w+) on/g), ([, right]) => right)).toEqual(missing)
    }
    expect(await tablesOf(other)).toEqual([])
    expect(await store.shards.list()).toHaveLength(1)
  },
)

test('a dry run names tables of other programs and missing rights at once', async () => {
  const { urls } = await freshShards(2)
  const [own, other] = urls as [string, string]
  await sendStatement(other, 'CREATE TABLE entities (id INT PRIMARY KEY, name TEXT)')
  const store = await open([own])
  const user = await createLimitedUser(other, 'SELECT, INSERT, UPDATE')
  onTestFinished(() => user.drop())
  await expect(store.shards.add(user.url, { dryRun: true })).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringMatching(/for 3 reasons\. 1\. the table entities .* 2\. .*DELETE.* 3\. .*CREATE/),
  })
})

test('a shard that joined in spite of a table of another program can be removed once the table is renamed', async () => {
  const { urls } = await freshShards(2)
  const [, other] = urls as [string, string]
  const store = await open(urls.slice(0, 1))
  await store.shards.add(other)
  await sendStatement(other, 'DROP TABLE entities')
  await sendStatement(other, 'CREATE TABLE entities (id INT PRIMARY KEY, name TEXT)')
  await expect(store.shards.remove(1, { dryRun: true })).rejects.toMatchObject({
    code: 'NOT_MIGRATED',
    message: expect.stringContaining('the table entities lacks the column') as string,
  })
  await sendStatement(other, 'RENAME TABLE entities TO old_entities')
  await open(urls.slice(0, 1))
  await expect(store.shards.remove(1, { dryRun: true })).resolves.toBeUndefined()
  expect(await tablesOf(other)).toContain('old_entities')
})
