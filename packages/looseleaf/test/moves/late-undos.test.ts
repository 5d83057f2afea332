import { LooseleafError, type Driver } from '@looseleaf/core'
import { withoutRanges } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets, movesOf, resumeMoves, undoMove } from '@looseleaf/mover/internal'
import { checkIndexes, checkQueries, contentsOf, filledStore, openStore, rowsAt } from './stores.ts'

/** The leading shard is neither source nor target, so the source may give buckets up after an undo was announced there. */
const plan = { from: 1, to: 2, buckets: '1400-2423' }
/** Two groups, and a lease that is over when the next mover comes. */
const tuning = { groups: 2, checkpointMs: 0, leaseMs: 1 }

/** Moves the buckets until the given step, or until the first group was handed over, and stops. */
async function moveUntil(
  driver: Driver,
  isReached: (step: string, groups: number) => boolean,
): Promise<void> {
  const store = await openStore(driver, leapingTime())
  const interrupted = new AbortController()
  const moved = moveBuckets(store, plan, {
    ...tuning,
    signal: interrupted.signal,
    onProgress: ({ step, seals: { groups } }) => void (isReached(step, groups) && interrupted.abort()),
  })
  await expect(moved).rejects.toMatchObject({ code: 'ABORTED' })
}

const died = (): LooseleafError => new LooseleafError('CLOSED', 'The process has died.')

interface Contents {
  readonly serves?: { readonly leaving?: readonly unknown[] }
  readonly layout?: { readonly moves?: readonly { readonly phase: string }[] }
}

const announcesUndo = ({ layout }: Contents): boolean => layout?.moves?.[0]?.phase === 'undoing'

/** Hands the first group over after an undo has looked at the source. The process of the undo dies when the leading shard has the announcement. */
function lateUndo(driver: Driver): Driver {
  let isDead = false
  return faultyDriver(driver, ({ shard, operation, args: [catalog] }) => {
    if (isDead) return { before: () => Promise.reject(died()) }
    if (shard !== 0 || operation !== 'change' || !announcesUndo((catalog ?? {}) as Contents)) return undefined
    return {
      before: () => moveUntil(driver, (_, groups) => groups === 1),
      after: () => void (isDead = true),
    }
  })
}

async function expectMoved(driver: Driver, before: ReadonlyMap<string, string>): Promise<void> {
  const fresh = await openStore(driver)
  expect(await movesOf(fresh)).toEqual([])
  expect(await contentsOf(fresh)).toEqual(before)
  expect(await rowsAt(fresh, plan.from, plan.buckets)).toBe(0)
  await checkQueries(fresh)
  await checkIndexes(fresh)
}

test.each([
  ['at once', false],
  ['after another undo was refused', true],
])(
  'repair finishes a move that was handed over during the announcement of its undo, whose process died, %s',
  async (_, isUndoneAgain) => {
    const driver = await memoryShards(3).connect()
    const before = await contentsOf(await filledStore(driver, 60))
    await moveUntil(driver, (step) => step === 'checking')
    const undoing = await openStore(lateUndo(driver), leapingTime())
    const [open] = await movesOf(undoing)
    await expect(undoMove(undoing, open!.id, tuning)).rejects.toMatchObject({ code: 'CLOSED' })

    const other = await openStore(driver, leapingTime())
    expect(await movesOf(other)).toMatchObject([{ state: 'undoing', handedOver: 512 }])
    if (isUndoneAgain) {
      await expect(undoMove(other, open!.id, tuning)).rejects.toMatchObject({
        code: 'CONFLICT',
        retryable: false,
      })
      expect(await movesOf(other)).toMatchObject([{ state: 'sealing', forward: 'repair', back: 'move' }])
      // An undo that died has left its step in the record.
      const { tasks } = driver.shards[plan.to]!
      const { progress } = (await tasks.load('move/1'))!
      await tasks.claim('move/1', 'dead', 60_000)
      await tasks.save('move/1', 'dead', JSON.stringify({ ...JSON.parse(progress), step: 'undoing' }), 0)
      await expect(undoMove(other, open!.id, tuning)).rejects.toMatchObject({ code: 'CONFLICT' })
      const [again] = await movesOf(other)
      expect(again).toMatchObject({ state: 'copying', back: 'move' })
      expect(again!.counts.entities).toBeGreaterThan(0)
    }
    expect(await resumeMoves(other, tuning)).toMatchObject([{ state: 'done' }])
    await expectMoved(driver, before)
    await driver.close()
  },
)

test('an undo that fails after it has ended the attempt at the source stays announced, and repair finishes it', async () => {
  const driver = await memoryShards(3).connect()
  const before = await contentsOf(await filledStore(driver, 60))
  await moveUntil(driver, (step) => step === 'checking')
  let failures = 0
  const failing = faultyDriver(driver, ({ shard, operation, args: [catalog] }) => {
    const contents = (catalog ?? {}) as Contents
    const endsAttempt = announcesUndo(contents) && contents.serves?.leaving === undefined
    if (shard !== plan.from || operation !== 'change' || !endsAttempt) return undefined
    if (failures++ > 0) return undefined
    return {
      after() {
        throw died()
      },
    }
  })
  const undoing = await openStore(failing, leapingTime())
  const [open] = await movesOf(undoing)
  await expect(undoMove(undoing, open!.id, tuning)).rejects.toMatchObject({ code: 'CLOSED' })
  const other = await openStore(driver, leapingTime())
  expect(await movesOf(other)).toMatchObject([{ state: 'undoing' }])
  expect(other.context.catalog.current().layout?.moves).toMatchObject([{ phase: 'undoing' }])
  expect(await resumeMoves(other, tuning)).toMatchObject([{ state: 'undone' }])
  expect(await rowsAt(other, plan.to, plan.buckets)).toBe(0)
  expect(await contentsOf(other)).toEqual(before)
  await driver.close()
})

test('repair copies a group again that was handed over during the announcement of an undo, and that the target has lost', async () => {
  const driver = await memoryShards(3).connect()
  const before = await contentsOf(await filledStore(driver, 60))
  await moveUntil(driver, (step) => step === 'checking')
  const undoing = await openStore(lateUndo(driver), leapingTime())
  const [open] = await movesOf(undoing)
  await expect(undoMove(undoing, open!.id, tuning)).rejects.toMatchObject({ code: 'CLOSED' })
  const target = driver.shards[plan.to]!
  const catalog = (await loadShardCatalog(target))!
  expect(catalog.serves!.arrived).toHaveLength(1)
  await changeServes(target, catalog, { owns: withoutRanges(catalog.serves!.owns, plan.buckets) })

  const other = await openStore(driver, leapingTime())
  expect(await movesOf(other)).toMatchObject([{ state: 'undoing', handedOver: 512 }])
  expect(await other.shards.repair()).toMatchObject({ problems: [], moves: [{ state: 'done' }] })
  await expectMoved(driver, before)
})

test('an undo that waits for the mover is refused when the mover has ended the move', async () => {
  const driver = await memoryShards(3).connect()
  const other = await filledStore(driver, 60)
  const before = await contentsOf(other)
  let isWaiting: Promise<unknown> = Promise.resolve()
  // The mover goes on when the undo waits for it.
  const slow = faultyDriver(driver, () => ({ before: async () => void (await isWaiting) }))
  const store = await openStore(slow, leapingTime())
  let undone: Promise<unknown> | undefined
  const moved = await moveBuckets(store, plan, {
    onProgress({ move, step }) {
      if (step !== 'checking' || undone !== undefined) return
      const waits = Promise.withResolvers<void>()
      isWaiting = waits.promise
      undone = undoMove(other, move, { onWait: () => waits.resolve() }).catch((error: unknown) => error)
    },
  })
  expect(moved.state).toBe('done')
  expect(await undone).toMatchObject({
    code: 'CONFLICT',
    message: `Move ${moved.id} cannot be undone: it has ended. Move the buckets back.`,
    retryable: false,
  })
  expect(await movesOf(other, { finished: true })).toMatchObject([
    { id: moved.id, state: 'done', holder: undefined, heldUpBy: undefined },
  ])
  expect(await contentsOf(other)).toEqual(before)
  await checkIndexes(other)
  await driver.close()
})
