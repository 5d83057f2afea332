import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { LooseleafError, parseId } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'
import { inspectEntity, type InspectedRow } from './inspect-entity.ts'
import { inspectIndexRows, type InspectedIndexRow } from './inspect-index.ts'

const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })
const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })
const indexes = [byTag, byMail]

describe.each([
  ['SQLite', async () => memoryShards(3)],
  ['MariaDB', async () => mysqlShards((await freshShards(3)).urls)],
])('on %s', (database, shards) => {
  let store: DataStore
  beforeEach(async () => {
    store = await DataStore.open({ shards: await shards(), indexes, migrate: true, onWarning: () => {} })
  })
  afterEach(() => store.close())

  const entryOf = (name: string, unique?: true): CatalogEntry =>
    store.context.catalog.current().indexes.find((one) => one.name === name && one.unique === unique)!

  /** Deletes a row behind the store's back. */
  async function deleteRow({ table, shard, key }: InspectedRow, id: string): Promise<void> {
    const entry = store.context.catalog.current().indexes.find((one) => one.table === table)!
    const on = store.context.driver.shards.find(({ name }) => name === shard)!
    const row = { key: [Buffer.from(String(key[0]!.value))], entityId: parseId(id) }
    expect(await on.index(tableSpec(entry)).remove([{ ...row, before: Number.MAX_SAFE_INTEGER }])).toBe(1)
  }

  const shown = (rows: readonly InspectedRow[]): unknown[] =>
    rows.map(({ index, isClaim, key, isExpected, version }) => [
      isClaim ? `claim ${index}` : index,
      key.map(({ value }) => value).join(),
      isExpected,
      version,
    ])

  test('inspectEntity returns the stored entity with each of its index rows', async () => {
    const bag = { mail: 'ada@example.org', tags: ['x', 'y'], text: 'long '.repeat(300) }
    const { id, version } = await store.put(bag)
    const { stored, rows, shard, bucket } = await inspectEntity(store.context, id.toUpperCase())
    const { router, driver, codec } = store.context
    expect(shard).toBe(driver.shards[router.shardOfId(parseId(id))]!.name)
    expect(router.buckets!.shards[bucket!]).toBe(router.shardOfId(parseId(id)))
    expect(stored).toMatchObject({ version, bag, failure: undefined })
    expect(codec.decode(stored!.body!)).toEqual(bag)
    expect(stored!.layout).toMatchObject({
      format: 'msgpack',
      compression: 'zlib',
      headerBytes: 10,
      shape: undefined,
    })
    expect(stored!.layout!.plainBytes).toBeGreaterThan(1500)
    expect(shown(rows).toSorted()).toEqual([
      ['by_mail', 'ada@example.org', true, version],
      ['by_tag', 'x', true, version],
      ['by_tag', 'y', true, version],
      ['claim by_mail', 'ada@example.org', true, version],
    ])
  })

  test('inspectEntity returns the other rows while an index is added or dropped', async () => {
    const { id, version } = await store.put({ mail: 'ada@example.org', tags: ['x'] })
    for (const shard of store.context.driver.shards) await shard.dropIndexTable(tableSpec(entryOf('by_tag')))
    const { rows } = await inspectEntity(store.context, id)
    expect(shown(rows).toSorted()).toEqual([
      ['by_mail', 'ada@example.org', true, version],
      ['by_tag', 'x', true, undefined],
      ['claim by_mail', 'ada@example.org', true, version],
    ])
  })

  test('inspectEntity shows a missing row', async () => {
    const { id, version } = await store.put({ tags: ['x', 'y'] })
    const { rows } = await inspectEntity(store.context, id)
    await deleteRow(rows[0]!, id)
    expect(shown((await inspectEntity(store.context, id)).rows)).toEqual([
      ['by_tag', 'x', true, undefined],
      ['by_tag', 'y', true, version],
    ])
  })

  test('inspectEntity shows lost rows as not expected, and a deleted entity expects none', async () => {
    const { id, version } = await store.put({ tags: ['x'] })
    const second = await store.put({ tags: ['y'] }, { id })
    expect(shown((await inspectEntity(store.context, id)).rows)).toEqual([
      ['by_tag', 'y', true, second.version],
      ['by_tag', 'x', false, version],
    ])
    await store.delete(id)
    const { stored, rows } = await inspectEntity(store.context, id)
    expect(stored).toMatchObject({ body: null, bag: undefined, layout: undefined })
    expect(rows.filter(({ isExpected }) => isExpected)).toEqual([])
  })

  test('inspectEntity does not know the expected rows of a damaged body', async () => {
    const { id, version } = await store.put({ tags: ['x'] })
    const { driver, router, catalog } = store.context
    const shard = router.shardOfId(parseId(id))
    const body = Buffer.from('damaged by hand')
    const damaged = { id: parseId(id), base: version, version: version + 1, body }
    await driver.shards[shard]!.entities.replace([damaged], { epoch: catalog.current().epochs[shard]! })
    const { stored, rows } = await inspectEntity(store.context, id)
    expect(stored).toMatchObject({ bag: undefined, layout: undefined, failure: { code: 'BODY_DAMAGED' } })
    expect(stored!.body).toEqual(body)
    expect(shown(rows)).toEqual([['by_tag', 'x', undefined, version]])
  })

  test('inspectEntity returns the rows of the other shards if a shard does not answer', async () => {
    const tags = Array.from({ length: 12 }, (_, n) => `t${n}`)
    const { id, version } = await store.put({ tags })
    const { driver, router } = store.context
    const [refusing, hanging] = driver.shards.filter((_, shard) => shard !== router.shardOfId(parseId(id)))
    refusing!.rowsOf = () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It is gone.'))
    hanging!.rowsOf = () => new Promise(() => {})
    const { rows, stored } = await inspectEntity(store.context, id)
    expect(stored?.version).toBe(version)
    for (const { shard, failure, version: stamp } of rows) {
      const isSilent = shard === refusing!.name || shard === hanging!.name
      expect(stamp).toBe(isSilent ? undefined : version)
      if (shard === refusing!.name) expect(failure).toMatchObject({ message: 'It is gone.' })
      else if (shard === hanging!.name) expect(failure).toMatchObject({ code: 'DEADLINE' })
      else expect(failure).toBeUndefined()
    }
    expect(new Set(rows.map(({ shard }) => shard)).size).toBe(3)
  })

  test('inspectEntity shows a deferred row as pending until it is written', async () => {
    const { id, version } = await store.put({ tags: ['x', 'y'] })
    await store.put({ tags: ['z'] })
    const found = await inspectEntity(store.context, id)
    const gone = found.rows.find(({ key }) => key[0]!.value === 'x')!
    await deleteRow(gone, id)
    const { driver, router, catalog } = store.context
    const shard = router.shardOfId(parseId(id))
    const row = { id: parseId(id), base: version, version: version + 1, body: found.stored!.body }
    const epoch = catalog.current().epochs[shard]!
    await driver.shards[shard]!.entities.replace([{ ...row, deferred: [gone.table] }], { epoch })
    const { rows } = await inspectEntity(store.context, id)
    expect(rows.map(({ key, isPending }) => [key[0]!.value, isPending])).toEqual([
      ['x', true],
      ['y', false],
    ])
  })

  test('inspectEntity returns nothing for an unknown id, and rejects a bad one', async () => {
    expect(await inspectEntity(store.context, store.newId())).toMatchObject({ stored: undefined, rows: [] })
    await expect(inspectEntity(store.context, 'ada')).rejects.toMatchObject({ code: 'BAD_ID' })
  })

  test('inspectIndexRows pages through stored rows with the current state of their entities', async () => {
    const ids: string[] = []
    for (let i = 0; i < 9; i++) ids.push((await store.put({ tags: [`t${i}`], n: i })).id)
    await store.put({ tags: ['t9'], n: 0 }, { id: ids[0]! })
    const orphan = { key: [Buffer.from('t10')], entityId: parseId(store.newId()), version: 1 }
    const shardOfOrphan = store.context.router.shardOfKey(orphan.key[0]!)
    await store.context.driver.shards[shardOfOrphan]!.index(tableSpec(entryOf('by_tag'))).upsert([orphan])
    const found: InspectedIndexRow[] = []
    for (let shard = 0; shard < 3; shard++) {
      const own: InspectedIndexRow[] = []
      for (let after, isFirst = true; isFirst || after !== undefined; isFirst = false) {
        const page = await inspectIndexRows(store.context, {
          entry: entryOf('by_tag'),
          shard,
          after,
          limit: 2,
        })
        own.push(...page.rows)
        after = page.next
      }
      const values = own.map(({ key }) => String(key[0]!.value))
      expect(values).toEqual(values.toSorted())
      found.push(...own)
    }
    const byKey = new Map(found.map((row) => [row.key[0]!.value, row]))
    expect([...byKey.keys()].toSorted()).toEqual(Array.from({ length: 11 }, (__, i) => `t${i}`).toSorted())
    expect(byKey.get('t0')).toMatchObject({ entity: ids[0], bag: { tags: ['t9'], n: 0 }, isExpected: false })
    expect(byKey.get('t9')).toMatchObject({ entity: ids[0], isExpected: true })
    expect(byKey.get('t10')).toMatchObject({ bag: undefined, isExpected: false })
    expect(byKey.get('t2')).toMatchObject({ entity: ids[2], bag: { n: 2 }, isExpected: true })
  })

  test('a shard reports the approximate sizes of its tables', async () => {
    await store.put({ tags: ['x'] })
    const sizes = await Promise.all(store.context.driver.shards.map((shard) => shard.sizes!()))
    for (const one of sizes) expect(one!.bytes).toBeGreaterThan(0)
    if (database === 'SQLite') {
      expect(sizes.reduce((sum, one) => sum + one!.entities!, 0)).toBe(1)
      expect(sizes[0]!.tables.size).toBe(0)
      return
    }
    for (const one of sizes)
      for (const table of ['entities', 'index_by_tag', 'claims_by_mail']) {
        expect(one!.tables.get(table)!.bytes).toBeGreaterThan(0)
        expect(one!.tables.get(table)!.rows).toBeLessThan(100)
      }
  })
})
