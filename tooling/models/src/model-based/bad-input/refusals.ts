import { inspect } from 'node:util'
import { formatId, isLooseleafError, type ErrorCode } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex, type IndexDefinition } from '@looseleaf/index-engine'
import { keyIdentity, tableSpec } from '@looseleaf/index-engine/internal'
import { DataStore } from '@looseleaf/store'
import { keepOpen, withoutPauses } from '@looseleaf/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** Part of every value and credential; no error may contain it. */
export const MARKER = 'tr0ub4dor'

/** A public call without its types, as JavaScript can make it. */
type Call = (...arguments_: readonly unknown[]) => unknown
type CallName =
  | 'put'
  | 'insert'
  | 'update'
  | 'delete'
  | 'putMany'
  | 'get'
  | 'getMany'
  | 'exists'
  | 'query'
  | 'queryMany'
  | 'queryIds'
  | 'getAll'
  | 'count'
  | 'countMany'
  | 'scan'
  | 'addIndex'
  | 'dropIndex'
  | 'indexes'
  | 'status'
  | 'newId'

export type UntypedStore = Readonly<Record<CallName, Call>>

/** A store with one entity and some indexes. No refused call may change it. */
export interface Fixture {
  readonly store: UntypedStore
  readonly typed: DataStore
  /** Id of the entity. */
  readonly id: string
  readonly version: number
}

/** A bad call, its error code, and a pattern for its message. */
export type Case = readonly [what: string, call: (on: Fixture) => unknown, code: ErrorCode, names: RegExp]

export const byName: IndexDefinition = defineIndex('by_name', {
  properties: { name: 'string', age: 'integer', score: 'number' },
  shardOn: 'name',
})
export const byAll: IndexDefinition = defineIndex('by_all', {
  properties: { name: 'string', owner: 'uuid', on: 'boolean', at: 'time', age: 'integer', score: 'number' },
  shardOn: 'id',
  onMisfit: 'skip',
})
export const byTag: IndexDefinition = defineIndex('by_tag', {
  properties: { tags: 'string[]' },
  shardOn: 'tags',
})
export const byOwner: IndexDefinition = defineIndex('by_owner', {
  properties: { owner: 'uuid' },
  shardOn: 'owner',
})
export const byTime: IndexDefinition = defineIndex('by_time', { properties: { at: 'time' }, shardOn: 'id' })
export const byFlag: IndexDefinition = defineIndex('by_flag', {
  properties: { on: 'boolean' },
  shardOn: 'id',
})
export const byScore: IndexDefinition = defineIndex('by_score', {
  properties: { score: 'number' },
  shardOn: 'id',
})
export const byAge: IndexDefinition = defineIndex('by_age', { properties: { age: 'integer' }, shardOn: 'id' })
export const byAges: IndexDefinition = defineIndex('by_ages', {
  properties: { ages: 'integer[]' },
  shardOn: 'id',
})

export const indexes: readonly IndexDefinition[] = [
  byName,
  byAll,
  byTag,
  byOwner,
  byTime,
  byFlag,
  byScore,
  byAge,
  byAges,
]

/** Tests that each call is refused with its code, names the mistake, reveals no value, and writes nothing. */
export function refuses(title: string, cases: readonly Case[]): void {
  describe(title, () => {
    let fixture: Fixture
    beforeAll(async () => {
      fixture = await createFixture()
    })
    afterAll(() => fixture.typed.close())

    test.each(cases)('%s', async (_, call, code, names) => {
      const before = await contents(fixture.typed)
      const error = await errorOf(() => call(fixture))
      if (!isLooseleafError(error))
        throw new Error('The call threw an error that is no LooseleafError.', { cause: error })
      expect(error).toMatchObject({ code, message: expect.stringMatching(names) })
      expect(inspect(error, { depth: 8 })).not.toContain(MARKER)
      await fixture.typed.settled()
      expect(await contents(fixture.typed)).toEqual(before)
    })
  })
}

export async function createFixture(): Promise<Fixture> {
  const driver = await memoryShards(2).connect()
  const typed = await DataStore.open({
    shards: keepOpen(driver),
    indexes,
    migrate: true,
    time: withoutPauses,
  })
  const { id, version } = await typed.put({
    name: `${MARKER} name`,
    age: 5,
    score: 1.5,
    tags: [`${MARKER} tag`],
    at: new Date(0),
    on: true,
    owner: '0192f0c1-7c1e-7abc-8def-0123456789ab',
  })
  await typed.settled()
  return { store: typed as unknown as UntypedStore, typed, id, version }
}

/** Reads everything on the shards: entities, index rows, catalogs. */
export async function contents(store: DataStore): Promise<readonly string[]> {
  const texts: string[] = []
  for (const [number, shard] of store.context.driver.shards.entries()) {
    const catalog = await shard.catalog.load()
    texts.push(JSON.stringify(catalog))
    for (const row of await shard.entities.pageByAdded(0, 10_000)) {
      texts.push(
        `${number} ${formatId(row.id)} ${row.version} ${Buffer.from(row.body ?? []).toString('hex')}`,
      )
    }
    for (const entry of catalog?.indexes ?? []) {
      if (entry.state === 'dropped') continue
      const rows = await shard.index(tableSpec(entry)).scan({ prefix: [], order: 'asc', limit: 10_000 })
      for (const row of rows) {
        texts.push(
          `${number} ${entry.table} ${formatId(row.entityId)} ${row.version} ${keyIdentity(row.key)}`,
        )
      }
    }
  }
  return texts
}

/** Returns the error that a call throws or rejects with; fails if the call succeeds. */
export async function errorOf(call: () => unknown): Promise<unknown> {
  let value: unknown
  try {
    value = await call()
    // `scan` validates its arguments only when it is read.
    if (typeof value === 'object' && value !== null && Symbol.asyncIterator in value) {
      for await (const _ of value as AsyncIterable<unknown>);
    }
  } catch (error) {
    return error
  }
  throw new Error(`The call was accepted and returned a ${typeof value}.`)
}
