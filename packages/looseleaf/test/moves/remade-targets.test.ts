import { cleanIndex } from '@looseleaf/cleaner'
import { parseId } from '@looseleaf/core'
import { changeServes } from '@looseleaf/index-engine/internal'
import { announceTarget, entitiesIn, loadOwn, type MoveWork } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { moveUntil, PLAN } from './consumers/moving.ts'
import { checkWhole, shardFiles, type ShardFiles } from './remade.ts'
import { contentsOf, fill, indexes, itemOf, SOME_BUCKETS } from './stores.ts'

let files: ShardFiles

beforeEach(() => {
  files = shardFiles(2)
})

const STEPS = ['copying', 'first group', 'switching', 'target', 'emptying', 'done'] as const
type Step = (typeof STEPS)[number]

/** Moves buckets to shard 1 until a step begins. */
async function moveTo(store: DataStore, step: Step): Promise<void> {
  if (step === 'done') await store.shards.move(PLAN)
  else if (step === 'first group') {
    let reports = 0
    await moveUntil(store, 'sealing', PLAN, () => ++reports === 2)
  } else await moveUntil(store, step === 'target' ? 'switching' : step)
  if (step !== 'target') return
  const [move] = store.context.catalog.current().layout!.moves!
  await announceTarget({ context: store.context, move } as MoveWork)
}

interface Remade {
  readonly store: DataStore
  /** The entities that shard 0 had or gave up, by id. */
  readonly kept: ReadonlyMap<string, string>
}

/** Makes shard 1 anew at a step of a move to it. */
async function remadeAt(step: Step): Promise<Remade> {
  const first = await files.open()
  await fill(first, 120)
  const isKept = entitiesIn(first.context, step === 'done' ? '1024-2047' : '0-2047')
  const kept = new Map([...(await contentsOf(first))].filter(([id]) => isKept(parseId(id))))
  await moveTo(first, step)
  await first.close()
  files.lose(1)
  return { store: await files.open({ acceptEmptyShards: true }), kept }
}

test.each(STEPS)('a repair ends a move whose target was made anew at this step: %s', async (step) => {
  const remade = await remadeAt(step)
  const { problems, moves } = await remade.store.shards.repair()
  expect(problems).toEqual([])
  expect(moves).toMatchObject([{ id: 1, state: 'done' }])
  await checkWhole(remade.store, remade.kept)
})

test('a cleaning names the command that ends its wait for buckets that no shard serves', async () => {
  const remade = await remadeAt('emptying')
  await expect(cleanIndex(remade.store)).rejects.toMatchObject({
    code: 'SHARD_BUSY',
    message: expect.stringContaining('run `looseleaf shard repair`') as string,
  })
  await remade.store.shards.repair()
  await checkWhole(remade.store, remade.kept)
})

test('an undo gives the buckets back to the source if the target was made anew before the first group', async () => {
  const remade = await remadeAt('copying')
  expect(await remade.store.shards.undo(1)).toMatchObject({ state: 'undone' })
  await checkWhole(remade.store, remade.kept)
})

test('an undo names the call that ends a move whose target was made anew after the first group', async () => {
  const remade = await remadeAt('first group')
  await expect(remade.store.shards.undo(1)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('Finish it with shards.repair, then move the buckets back') as string,
  })
  expect(await remade.store.shards.repair()).toMatchObject({ moves: [{ state: 'done' }] })
  await checkWhole(remade.store, remade.kept)
})

test('the move to a shard that was made anew is announced once, whatever interrupts its opening', async () => {
  const { store } = await remadeAt('emptying')
  const { layout } = store.context.catalog.current()
  expect(layout).toMatchObject({
    moves: [{ id: 1, ...PLAN, phase: 'both' }],
    shards: [{ buckets: '0-2047' }, {}],
  })
  const again = await files.open({ acceptEmptyShards: true })
  expect(again.context.catalog.current().layout).toEqual(layout)
})

test.each([
  ['emptying', 5],
  ['done', 5],
  ['emptying', 0],
  ['done', 0],
] as const)(
  'a target that went back at this step keeps its buckets closed, although an empty shard would be accepted: %s, %i indexes',
  async (step, count) => {
    const some = { indexes: indexes.slice(0, count) }
    const first = await files.open(some)
    await fill(first, 20)
    await moveTo(first, step)
    const { catalog, serves } = await loadOwn(first.context, 1, {})
    await changeServes(first.context.driver.shards[1]!, catalog, {
      ...serves,
      owns: '2048-4095',
      arrived: undefined,
    })
    await first.close()
    const store = await files.open({ ...some, acceptEmptyShards: true })
    expect(await store.shards.repair()).toMatchObject({
      moves: [],
      problems: [
        expect.stringMatching(/^The buckets 0-1023 are on no shard: .*Bring the server of shard 1 back/),
      ],
    })
  },
)

test('a process that is late does not announce a move again that a repair has ended', async () => {
  const first = await files.open()
  await fill(first, 20)
  await moveTo(first, 'emptying')
  await first.close()
  files.lose(1)
  const driver = await files.shards.connect()
  onTestFinished(() => driver.close())
  let isLate = false
  const late = faultyDriver(driver, ({ shard, operation, args }) => {
    if (shard !== 1 || operation !== 'pageByAdded' || args[1] !== 1 || isLate) return undefined
    isLate = true
    return {
      async after() {
        const other = await files.open({ acceptEmptyShards: true, shards: keepOpen(driver) })
        expect(await other.shards.repair()).toMatchObject({ moves: [{ state: 'done' }] })
      },
    }
  })
  const store = await files.open({ acceptEmptyShards: true, shards: keepOpen(late) })
  expect(isLate).toBe(true)
  expect(store.context.catalog.current().layout).toMatchObject({
    moves: [],
    shards: [{ buckets: '1024-2047' }, {}],
  })
})

test('a shard that was made anew serves the buckets whose entities are gone', async () => {
  const { store } = await remadeAt('done')
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  let id = store.newId()
  while (!isIn(parseId(id))) id = store.newId()
  expect(await store.get(id)).toBeUndefined()
  await store.put({ ...itemOf(1) }, { id })
  expect(await store.get(id)).toMatchObject(itemOf(1))
  const [row] = await store.context.driver.shards[1]!.entities.checksums([parseId(id)])
  expect(row).toBeDefined()
  // The buckets can move on.
  expect(await store.shards.move({ from: 1, to: 0, buckets: SOME_BUCKETS })).toMatchObject({ state: 'done' })
  expect(await store.get(id)).toMatchObject(itemOf(1))
})
