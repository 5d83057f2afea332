import { isLooseleafError, parseId, type Time } from '@looseleaf/core'
import { bucketsIn, unionOfRanges } from '@looseleaf/core/internal'
import { bucketOfRow, deriveEntryRows } from '@looseleaf/index-engine/internal'
import {
  drainShard,
  moveBuckets,
  movesOf,
  resumeMoves,
  undoMove,
  type MoveOptions,
  type MoverStore,
  type MoveReport,
  type Tuned,
} from '@looseleaf/mover/internal'
import type { DataStore } from '@looseleaf/store'
import type { Random } from '@looseleaf-tooling/kit/random'
import type { Checker } from '../checks.ts'
import type { Life } from '../steps/life.ts'
import { GROUPS, NAMES, RANKS, SEATS, TAGS } from '../shapes/indexes.ts'
import type { World } from '../world/world.ts'

/** Outcomes of the calls of movers. */
export type MoveOutcome = 'done' | 'undone' | 'joined' | 'removed' | 'refused' | 'interrupted'

export const noOutcomes: Readonly<Record<MoveOutcome, number>> = {
  done: 0,
  undone: 0,
  joined: 0,
  removed: 0,
  refused: 0,
  interrupted: 0,
}

/** Work of one mover. It outlives the processes of the mover. */
export interface MoverTask {
  /** Actions that are yet to begin. */
  remaining: number
  /** Whether the last call was refused for good. */
  isImpossible: boolean
  /** Buckets that came last, which often move back at once. */
  last: PlannedMove | undefined
  /** Shard that is being drained and removed. */
  removing: number | undefined
}

interface PlannedMove {
  readonly from: number
  readonly to: number
  readonly buckets: string
}

export interface MoverOptions {
  readonly store: DataStore
  /** The same store, for the calls that move buckets. */
  readonly moved: MoverStore
  readonly life: Life
  readonly time: Time
  readonly random: Random
  readonly world: World
  readonly checker: Checker
  readonly task: MoverTask
  readonly outcomes: Record<MoveOutcome, number>
  /** Called when a move begins to copy, and when its first buckets are about to be handed over. */
  onBusy(): void
  /** Adds a line to the log. */
  readonly note: (line: string) => void
}

/** Calls that go on with moves before a mover gives up; the end of the life goes on with the rest. */
const MAX_RESUMES = 4
const MAX_TRIES = 8
const LEASES_MS = [3_000, 10_000, 30_000]
/** Virtual milliseconds after which an undo begins, or a call is interrupted. */
const INTERRUPTED_AFTER_MS = [300, 3_000, 12_000]
const MAX_PAUSE_MS = 1_500
/** Milliseconds for which a call waits for consumers. */
const CONSUMERS_MS = [0, 2_000, 20_000]

/**
 * Runs a mover: goes on with the moves of its predecessor, moves buckets, some of them back at once, undoes moves while they are under way, and
 * adds a shard.
 */
export async function runMover(options: MoverOptions): Promise<void> {
  const { life, time, random, task, store } = options
  if (random.chance(0.7)) await attempt(options, () => resume(options))
  while (task.remaining > 0) {
    task.remaining--
    await time.sleep(random.below(MAX_PAUSE_MS))
    await act(options)
  }
  for (let resumes = 0; resumes < MAX_RESUMES; resumes++) {
    let isOver = false
    await attempt(options, async () => {
      await resume(options)
      isOver = (await movesOf(store)).length === 0
    })
    if (isOver || !life.alive) return
    await time.sleep(random.below(MAX_PAUSE_MS))
  }
}

async function act(options: MoverOptions): Promise<void> {
  const { random, task, world, store, outcomes } = options
  const joining = world.driver.shards.slice(world.owners.members().length)[0]
  if (joining !== undefined && random.chance(0.5)) {
    return attempt(options, async () => {
      await store.shards.add(joining.name)
      outcomes.joined++
    })
  }
  const present = presentShards(options)
  if (task.removing === undefined && world.mayRemove && present.length > 1 && random.chance(0.4))
    task.removing = random.pick(present)
  if (task.removing !== undefined) return remove(options, task.removing)
  const back = task.last && { from: task.last.to, to: task.last.from, buckets: task.last.buckets }
  task.last = undefined
  const plan = back !== undefined && random.chance(0.7) ? back : anyMove(options)
  if (plan === undefined) return
  options.note(`-- ${options.life.name}: moves ${plan.buckets} from ${plan.from} to ${plan.to}`)
  const undoing = random.chance(0.25) ? undoLater(options) : undefined
  await move(options, plan)
  await undoing
  // The undo of an undo.
  if (undoing !== undefined && random.chance(0.4)) await move(options, plan)
}

/** Moves buckets. Tries again while an index is being filled, or other moves have some of the buckets. */
async function move(options: MoverOptions, plan: PlannedMove): Promise<void> {
  const { random, moved, task, time } = options
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const report = await attempt(options, () => moveBuckets(moved, plan, tuned(options)))
    if (report !== undefined) ended(options, report)
    if (report?.state === 'done') task.last = plan
    if (report !== undefined || task.isImpossible || random.chance(0.1)) return
    await time.sleep(random.below(MAX_PAUSE_MS))
  }
}

/** Drains a shard and removes it. Leaves it as it is after a few failures. */
async function remove(options: MoverOptions, number: number): Promise<void> {
  const { life, moved, note, outcomes, random, store, task, time } = options
  note(`-- ${life.name}: drains and removes ${number}`)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const isRemoved = await attempt(options, async () => {
      await drainShard(moved.context, number, tuned(options))
      await store.shards.remove(number)
      return true
    })
    if (isRemoved === true) {
      outcomes.removed++
      break
    }
    await time.sleep(random.below(MAX_PAUSE_MS))
  }
  task.removing = undefined
}

/** Returns the numbers of the shards that were not removed. */
function presentShards({ store }: MoverOptions): readonly number[] {
  const { layout } = store.context.catalog.current()
  return (layout?.shards ?? []).flatMap(({ state }, number) => (state === 'removed' ? [] : [number]))
}

/** Undoes some move that is open after a while. */
async function undoLater(options: MoverOptions): Promise<void> {
  const { store, moved, random, time } = options
  await time.sleep(random.below(random.pick(INTERRUPTED_AFTER_MS)))
  await attempt(options, async () => {
    const open = await movesOf(store)
    if (open.length > 0)
      ended(options, await undoMove(moved, random.pick(open).id, { leaseMs: 3_000, pollMs: 200 }))
  })
}

async function resume(options: MoverOptions): Promise<void> {
  for (const report of await resumeMoves(options.moved, tuned(options))) ended(options, report)
}

function ended({ outcomes, life, note }: MoverOptions, { id, state }: MoveReport): void {
  note(`-- ${life.name}: move ${id} is ${state}`)
  if (state === 'done' || state === 'undone') outcomes[state]++
}

function tuned({ random, task, time, world, onBusy }: MoverOptions): Tuned<MoveOptions> {
  const interrupted = new AbortController()
  if (random.chance(0.1))
    void time.sleep(random.below(random.pick(INTERRUPTED_AFTER_MS))).then(() => interrupted.abort())
  return {
    signal: interrupted.signal,
    onProgress({ step }) {
      if (step !== 'copying' && step !== 'sealing') return void world.movingBy.delete(task)
      if (world.movingBy.get(task) !== step) onBusy()
      world.movingBy.set(task, step)
    },
    // Faults that stay dense while movers wait for each other would let none of them finish.
    onWait: () => void world.movingBy.delete(task),
    leaseMs: random.pick(LEASES_MS),
    checkpointMs: random.pick([0, 0, 1_000]),
    pollMs: 500,
    consumersMs: random.pick(CONSUMERS_MS),
    groups: 1 + random.below(3),
    groupSize: 1,
    smallRound: random.below(2),
  }
}

/** Makes a call that may be refused, or fail in bad weather. Copies that differ are a fault: no other program writes to the shards. */
async function attempt<T>(
  { life, checker, outcomes, note, task, world }: MoverOptions,
  call: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await call().finally(() => world.movingBy.delete(task))
  } catch (error) {
    if (!isLooseleafError(error) || !life.alive) throw error
    checker.check(
      'copies of a move equal their entities',
      error.message.includes('copies differ') && error.message,
    )
    note(`-- ${life.name}: ${error.code}: ${error.message}`)
    task.isImpossible = error.code === 'BAD_OPTION'
    outcomes[error.code === 'ABORTED' ? 'interrupted' : 'refused']++
    return undefined
  }
}

/** Chooses buckets of one shard, with entities or index rows in most of them. */
function anyMove(options: MoverOptions): PlannedMove | undefined {
  const { random, store, world } = options
  const { layout } = store.context.catalog.current()
  const present = presentShards(options)
  if (present.length < 2) return undefined
  const from = random.pick(present)
  const to = random.pick(present.filter((number) => number !== from))
  const owned = new Set(bucketsIn(layout?.shards[from]?.buckets ?? ''))
  // Rarely with buckets of other shards, whose move is refused.
  const isRefused = random.chance(0.03)
  const known = bucketsInUse(world).filter((bucket) => isRefused || owned.has(bucket))
  const chosen = random.chance(0.2) ? known : known.filter(() => random.chance(0.5))
  const others = random.chance(0.3) ? [...owned].slice(0, 20) : []
  const buckets = unionOfRanges(...[...chosen, ...others].map(String))
  return buckets === '' ? undefined : { from, to, buckets }
}

/** Returns the buckets of the entities, and of keys of index rows and claims. */
function bucketsInUse(world: World): readonly number[] {
  const { ids, router, owners } = world
  const { ofId } = router.buckets!
  const bags = [...TAGS.keys()].map((n) => ({
    tags: TAGS,
    group: GROUPS[n % GROUPS.length],
    rank: RANKS[n % RANKS.length],
    names: NAMES,
    seat: n % SEATS,
    open: true,
  }))
  const indexes = owners.catalogs()[0]?.indexes ?? []
  const rows = indexes.flatMap((entry) =>
    bags.flatMap((bag) =>
      deriveEntryRows(entry, bag).keys.map((key) =>
        bucketOfRow(entry, router.buckets!, key, parseId(ids[0])),
      ),
    ),
  )
  return [...new Set([...ids.map((id) => ofId(parseId(id))), ...rows])]
}
