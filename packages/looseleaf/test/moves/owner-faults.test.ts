import { parseId, type Driver } from '@looseleaf/core'
import type { LayoutMove, ShardServes } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents, changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { ownerFaults, type OwnerFault } from '@looseleaf/protocol/internal'
import { moduloRouter } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { openStore } from './stores.ts'

const OWNED = ['0-1365', '1366-2730', '2731-4095'] as const
const AWAY = { move: 1, attempt: 1, buckets: '0-9', to: 1, end: 1 }
const ARRIVED = { move: 1, attempt: 1, buckets: '0-9', from: 0, end: 1, begin: 2, afterAddedId: 0 }

/** The records of shard 0 after it gave the first ten buckets up to shard 1. */
const gaveUp = (away: Partial<typeof AWAY> & { readonly emptied?: number } = {}): ShardServes => ({
  owns: '10-1365',
  away: [{ ...AWAY, ...away }],
})

async function setServes(driver: Driver, number: number, serves: ShardServes): Promise<void> {
  const shard = driver.shards[number]!
  await changeServes(shard, (await loadShardCatalog(shard))!, serves)
}

/** Returns the faults of three shards with these records. `inBetween` changes them after the catalogs were read once. */
async function faultsOf(
  records: Readonly<Record<number, ShardServes>>,
  inBetween?: (driver: Driver) => Promise<void>,
  prepare?: (driver: Driver) => Promise<unknown>,
): Promise<readonly OwnerFault[]> {
  const driver = await memoryShards(3).connect()
  await (await openStore(driver)).close()
  await prepare?.(driver)
  for (const [number, serves] of Object.entries(records)) await setServes(driver, Number(number), serves)
  let loads = -Infinity
  const changing = faultyDriver(driver, ({ table, operation }) =>
    table === 'catalog' && operation === 'load' && ++loads === 3
      ? { after: async () => inBetween?.(driver) }
      : undefined,
  )
  const store = await openStore(changing)
  loads = 0
  const faults = await ownerFaults(store.context, {})
  await store.close()
  await driver.close()
  return faults
}

test('shards have no faults before the first move, and after one', async () => {
  expect(await faultsOf({})).toEqual([])
  expect(await faultsOf({ 0: gaveUp(), 1: { owns: '0-9,1366-2730', arrived: [ARRIVED] } })).toEqual([])
})

test('shards of a router without buckets have no faults', async () => {
  const store = await DataStore.open({
    shards: memoryShards(2),
    router: moduloRouter({ shards: 2 }),
    migrate: true,
  })
  expect(await ownerFaults(store.context, {})).toEqual([])
  await store.close()
})

test('buckets with several owners belong to the shard of the latest arrival', async () => {
  const faults = await faultsOf({
    0: { owns: OWNED[0] },
    1: { owns: `0-9,${OWNED[1]}`, arrived: [{ ...ARRIVED, move: 3 }] },
    2: { owns: `0-4,${OWNED[2]}`, arrived: [{ ...ARRIVED, move: 2 }] },
  })
  expect(faults).toEqual([
    {
      buckets: '0-4',
      owners: [0, 1, 2],
      isRepairable: false,
      text: expect.stringMatching(
        /^The buckets 0-4 belong to shard 1, and shard 0, 2 has gone back to a state .* Processes use shard 1\. Bring the server of shard 0, 2 back/,
      ),
    },
    {
      buckets: '5-9',
      owners: [0, 1],
      isRepairable: false,
      text: expect.stringMatching(/^The buckets 5-9 belong to shard 1, and shard 0 has gone back/),
    },
  ])
})

test('a shard without records still owns the buckets of the layout, if another one began with them without their being given up', async () => {
  const [fault] = await faultsOf({ 1: { owns: `0-9,${OWNED[1]}`, arrived: [ARRIVED] } })
  expect(fault).toMatchObject({
    owners: [0, 1],
    text: expect.stringMatching(/belong to shard 1, and shard 0/),
  })
})

test('an arrival of other buckets does not make a shard the owner', async () => {
  const [fault] = await faultsOf({
    0: { owns: OWNED[0], arrived: [{ ...ARRIVED, move: 9, buckets: '700' }] },
    1: { owns: `0-9,${OWNED[1]}`, arrived: [ARRIVED] },
  })
  expect(fault).toMatchObject({ text: expect.stringMatching(/^The buckets 0-9 belong to shard 1/) })
})

test('buckets that no shard owns and no record names are named', async () => {
  expect(await faultsOf({ 0: { owns: '0-99,110-1365' } })).toEqual([
    {
      buckets: '100-109',
      owners: [],
      isRepairable: false,
      text: expect.stringMatching(/^The buckets 100-109 are on no shard, and/),
    },
  ])
})

test.each([
  [undefined, 'Shard 0 still has their entities as they were then.'],
  [5, 'Shard 0 was told to delete their entities since.'],
])(
  'buckets that a target has lost are named, with the entities at the source (emptied: %s)',
  async (emptied, rest) => {
    const faults = await faultsOf({
      0: gaveUp(emptied === undefined ? {} : { emptied }),
      1: { owns: OWNED[1] },
    })
    expect(faults).toMatchObject([{ buckets: '0-9', owners: [] }])
    const [{ text } = { text: '' }] = faults
    expect(text).toMatch(
      /^The buckets 0-9 are on no shard: shard 0 gave them up in move 1, and shard 1 went back/,
    )
    expect(text).toContain(rest)
  },
)

test('a shard without records does not own buckets that another shard has given up', async () => {
  const away = [{ ...AWAY, buckets: '0-3', to: 2 }]
  expect(await faultsOf({ 1: { owns: OWNED[1], away } })).toMatchObject([
    {
      buckets: '0-3',
      owners: [],
      text: expect.stringMatching(/shard 1 gave them up in move 1, and shard 2 went back/),
    },
  ])
})

test('the last move of buckets that were given up several times counts', async () => {
  const text = expect.stringMatching(/shard 1 gave them up in move 2, and shard 2 went back/) as string
  const again = { ...AWAY, move: 2, to: 2 }
  expect(await faultsOf({ 0: gaveUp(), 1: { owns: OWNED[1], away: [again] } })).toMatchObject([
    { buckets: '0-9', text },
  ])
  // Also if a shard with a lower number has it.
  const lower = { 0: gaveUp({ move: 3, to: 2 }), 1: { owns: OWNED[1], away: [{ ...AWAY, move: 2, to: 0 }] } }
  expect(await faultsOf(lower)).toMatchObject([
    { buckets: '0-9', text: expect.stringMatching(/shard 0 gave them up in move 3/) },
  ])
})

test.each([
  ['both', undefined, true],
  ['undoing', undefined, true],
  ['target', undefined, false],
  ['both', 5, false],
] as const)(
  'lost buckets of a move in the phase %s are copied again if their source still has them (emptied: %s): %s',
  async (phase, emptied, isRepairable) => {
    const plan = { from: 0, to: 1, buckets: '0-9' }
    const moves: LayoutMove[] = [
      { ...plan, id: 9, buckets: '700', phase: phase === 'target' ? 'both' : 'target' },
      { ...plan, id: 1, phase },
    ]
    const [fault] = await faultsOf(
      { 0: gaveUp(emptied === undefined ? {} : { emptied }), 1: { owns: OWNED[1] } },
      undefined,
      (driver) =>
        changeCatalogContents(driver, ({ layout, ...contents }) => ({
          ...contents,
          layout: { ...layout!, revision: 1, moves },
        })),
    )
    expect(fault).toMatchObject({ buckets: '0-9', isRepairable })
    expect(fault!.text.includes('Call shards.repair')).toBe(isRepairable)
    expect(fault!.text.includes('Nothing was moved.')).toBe(!isRepairable)
  },
)

test('a shard that joins without buckets has no faults', async () => {
  const records = { 0: gaveUp(), 1: { owns: `0-9,1366-4095`, arrived: [ARRIVED] } }
  const faults = await faultsOf(records, undefined, (driver) =>
    changeCatalogContents(driver, ({ layout, ...contents }) => {
      const shards = layout!.shards
        .with(1, { name: 'memory 1', buckets: '1366-4095' })
        .with(2, { name: 'memory 2', state: 'joining' })
      return { ...contents, layout: { ...layout!, revision: 1, shards, moves: [] } }
    }),
  )
  expect(faults).toEqual([])
})

test('the last copy of lost buckets is looked for at their new shard alone', async () => {
  const id = '01890a5d-ac96-774b-bcce-b302099a8057'
  const records = {
    0: { owns: '10-1365', away: [{ ...AWAY, last: { id, updated: 6 } }] },
    1: { owns: OWNED[1], coming: [{ move: 1, attempt: 1, buckets: '0-9', from: 0, afterAddedId: 0 }] },
  }
  const faults = await faultsOf(records as never, undefined, async (driver) => {
    const { entities } = driver.shards[1]!
    await entities.raiseFloor()
    const { epoch } = await entities.floor()
    await entities.receive([{ id: parseId(id), version: 1, body: null }], { epoch, updated: 6 })
  })
  expect(faults).toEqual([])
})

test('buckets with which their new shard can begin are no fault, unless it lacks the last copy', async () => {
  const coming = [{ move: 1, attempt: 1, buckets: '0-9', from: 0, afterAddedId: 0 }]
  const target = { owns: OWNED[1], coming }
  expect(await faultsOf({ 0: gaveUp(), 1: target })).toEqual([])
  const last = { id: '01890a5d-ac96-774b-bcce-b302099a8057', updated: 6 }
  const without = { owns: '10-1365', away: [{ ...AWAY, last }] }
  expect(await faultsOf({ 0: without, 1: target })).toMatchObject([{ buckets: '0-9', owners: [] }])
  const another = { ...target, coming: [{ ...coming[0]!, attempt: 2 }] }
  expect(await faultsOf({ 0: gaveUp(), 1: another })).toMatchObject([{ buckets: '0-9', owners: [] }])
})

test.each([
  ['with two owners', 0, { 0: { owns: OWNED[0] }, 1: { owns: `0-9,${OWNED[1]}` } }],
  ['with two owners', 1, { 0: { owns: OWNED[0] }, 1: { owns: `0-9,${OWNED[1]}` } }],
  ['without a record', 2, { 0: { owns: '10-1365' } }],
  ['that the target has lost', 0, { 0: gaveUp(), 1: { owns: OWNED[1] } }],
  ['that the target has lost', 1, { 0: gaveUp(), 1: { owns: OWNED[1] } }],
] as const)('buckets %s are no fault if shard %i has changed meanwhile', async (_, number, records) => {
  expect(await faultsOf(records)).toHaveLength(1)
  const serves = (records as Readonly<Record<number, ShardServes>>)[number] ?? { owns: OWNED[number] }
  expect(await faultsOf(records, (driver) => setServes(driver, number, serves))).toEqual([])
})

test('a fault of some shards counts although another shard has changed meanwhile', async () => {
  const records = { 0: { owns: OWNED[0] }, 1: { owns: `0-9,${OWNED[1]}` } }
  expect(await faultsOf(records, (driver) => setServes(driver, 2, { owns: OWNED[2] }))).toHaveLength(1)
})
