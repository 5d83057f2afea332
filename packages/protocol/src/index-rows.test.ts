import { LooseleafError } from '@looseleaf/core'
import type { CatalogEntry, IndexState } from '@looseleaf/core/internal'
import type { EngineContext, Placement } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { failureUnlessDropped, sendByTable, type PlacedKey, type RowLanes } from './index-rows.ts'

const entryOf = (name: string, state: IndexState = 'ready', shardOn = 'id'): CatalogEntry => ({
  name,
  properties: [{ name: 'name', type: 'string', many: false }],
  shardOn,
  onMisfit: 'refuse',
  generation: 1,
  table: `index_${name}`,
  state,
})
const A = entryOf('a', 'ready', 'name')
const B = entryOf('b')
const ID = Buffer.alloc(16, 1)

/** Keys are on two shards, ids on the first one. */
const placement = {
  rows: { writtenOfKey: () => [0, 1], writtenOfId: () => [0] },
} as unknown as Placement

function contextOf(reload: () => Promise<unknown> = () => expect.unreachable()): EngineContext {
  return { catalog: { reload } } as unknown as EngineContext
}
const missing = new LooseleafError('INDEX_NOT_FOUND', 'No table.')
const row = (entry: CatalogEntry, name: string): PlacedKey => ({ entry, key: [Buffer.from(name)] })
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Sends these rows, and returns the groups that were sent, by shard and table. */
async function send(
  rows: readonly PlacedKey[],
  errors: Readonly<Record<string, unknown>>,
  context = contextOf(),
) {
  const lanes = new Map<string, RowLanes>()
  const sent: Record<string, unknown> = {}
  const lanesOf = (shard: number, { table }: { readonly table: string }): RowLanes => {
    const name = `${shard} ${table}`
    if (!lanes.has(name)) lanes.set(name, { name } as unknown as RowLanes)
    return lanes.get(name)!
  }
  const failures = await sendByTable(context, lanesOf, placement, rows, ID, async (lane, group) => {
    const { name } = lane as unknown as { readonly name: string }
    const error = errors[name]
    if (error !== undefined) throw error
    await turn()
    sent[name] = group.map(({ key }) => String(key[0]))
  })
  return { sent, failures }
}

const ROWS = [row(A, 'one'), row(B, 'one'), row(A, 'two')]

test('rows are sent by table to every shard where they are written', async () => {
  expect(await send(ROWS, {})).toEqual({
    sent: { '0 index_a': ['one', 'two'], '0 index_b': ['one'], '1 index_a': ['one', 'two'] },
    failures: [],
  })
})

test('failures are returned with their tables, after all other rows were sent', async () => {
  const error = new Error('lost')
  expect(await send(ROWS, { '0 index_a': error })).toEqual({
    sent: { '0 index_b': ['one'], '1 index_a': ['one', 'two'] },
    failures: [{ table: 'index_a', error }],
  })
})

test('a missing table of an index that is being dropped is no failure', async () => {
  const context = contextOf(async () => ({ indexes: [entryOf('a', 'retiring'), B] }))
  const errors = { '0 index_a': missing, '0 index_b': missing }
  expect(await send(ROWS, errors, context)).toEqual({
    sent: { '1 index_a': ['one', 'two'] },
    failures: [{ table: 'index_b', error: missing }],
  })
})

test.each<[string, readonly CatalogEntry[], boolean]>([
  ['was dropped', [B], true],
  ['is retiring', [B, entryOf('a', 'retiring')], true],
  ['is building', [entryOf('a', 'building'), entryOf('b', 'retiring')], false],
  ['is ready', [A], false],
])('a missing table of an index that %s', async (_, indexes, isDropped) => {
  const context = contextOf(async () => ({ indexes }))
  expect(await failureUnlessDropped(context, A, missing)).toEqual(isDropped ? undefined : { error: missing })
})

test('a failure to read the catalog takes the place of a missing table', async () => {
  const error = new Error('down')
  expect(
    await failureUnlessDropped(
      contextOf(() => Promise.reject(error)),
      A,
      missing,
    ),
  ).toEqual({ error })
})
