import { LooseleafError, type CallOptions } from '@looseleaf/core'
import { badArgument, bucketsIn, isRecord, requireKind, type StoreLayout } from '@looseleaf/core/internal'
import { askMigratedShards, latestLayout, type EngineContext } from '@looseleaf/index-engine/internal'
import {
  createThrottle,
  checkedPlan,
  movableBuckets,
  movableLayout,
  objectionsTo,
  ownerFaults,
  requireDrainable,
  type PlannedMove,
} from '@looseleaf/protocol/internal'
import { openMoves, type OpenMove } from './open-moves.ts'
import { consumerLags } from './plan/consumer-lags.ts'
import { sizesOn, totalOf, type BucketSizes } from './plan/bucket-sizes.ts'
import type { MovePlan, MoveRequest } from './plan/move-plan.ts'
import { drainedBuckets, evenedBuckets, type SizedShard } from './plan/spread-buckets.ts'
import { refusalOf, settingsOf } from './plan/target-checks.ts'

export interface PlanOptions extends CallOptions {
  /** Largest number of entities and index rows read per second. Default: no limit. */
  readonly rowsPerSecond?: number | undefined
}

/**
 * Plans the moves that fulfil a request, with exact sizes and everything that speaks against them. Changes nothing. Reads the ids and index
 * rows of each source once; for a drain and a rebalance, those of every shard that takes buckets. A bucket of a move that is not over
 * stays out of the plan: that move comes first. Throws `BAD_OPTION` for a request that names no shard or buckets of the store.
 */
export async function planMoves(
  context: EngineContext,
  request: MoveRequest,
  options: PlanOptions = {},
): Promise<MovePlan> {
  const { signal } = options
  movableBuckets(context)
  const { catalogs, silent } = await askMigratedShards(context.driver, { signal })
  const layout = movableLayout(latestLayout(catalogs))
  const problems = Array.from(
    silent,
    ([number, error]) => `Shard ${number} does not answer: ${error.message}`,
  )
  // Owners, sizes and targets are known only together with all shards.
  if (problems.length > 0) return { moves: [], problems, warnings: [] }

  const counted = new Map<number, BucketSizes>()
  const throttle = createThrottle(context.time, options.rowsPerSecond, context.share)
  const sizesOf = async (number: number): Promise<BucketSizes> => {
    const sizes = counted.get(number) ?? (await sizesOn({ context, throttle, signal }, number))
    counted.set(number, sizes)
    return sizes
  }

  for (const { message } of await ownerProblems(context, { signal })) problems.push(message)
  const wanted = await wantedMoves({ context, layout, sizesOf, signal }, request)
  problems.push(...wanted.problems)
  const warnings = [...wanted.warnings]
  if (wanted.moves.length > 0 && layout.moves === undefined) warnings.push(FIRST_MOVE)
  for (const move of wanted.moves) {
    for (const { message } of await problemsOf(context, move, { signal })) problems.push(message)
    warnings.push(...(await settingsOf(context, move.to, { signal })))
    warnings.push(...(await consumerLags(context, move.from, { signal })))
  }
  const moves = []
  for (const move of wanted.moves) {
    const buckets = bucketsIn(move.buckets)
    const sizes = await sizesOf(move.from)
    const size = totalOf(buckets.flatMap((bucket) => sizes.get(bucket) ?? []))
    moves.push({ ...move, bucketCount: buckets.length, ...size })
  }
  return { moves, problems: [...new Set(problems)], warnings: [...new Set(warnings)] }
}

const FIRST_MOVE =
  'No bucket of this store has moved yet. From the first move on, processes whose version knows no moves reject their calls with STORE_TOO_NEW. Update them before.'

/** Returns all errors for which a move would be refused now. Changes nothing. Throws `BAD_OPTION` as `planMoves` does. */
export async function problemsOf(
  context: EngineContext,
  planned: PlannedMove,
  options: CallOptions,
): Promise<readonly LooseleafError[]> {
  const objections = await objectionsTo(context, planned, options)
  const refusal = await refusalOf(context, planned.to, options)
  return refusal === undefined ? objections : [...objections, refusal]
}

/** Returns an error for each fault of the owners of buckets that no move repairs. */
export async function ownerProblems(
  context: EngineContext,
  options: CallOptions,
): Promise<readonly LooseleafError[]> {
  const faults = (await ownerFaults(context, options)).filter(({ isRepairable }) => !isRepairable)
  return faults.map(({ text }) => new LooseleafError('CONFLICT', text))
}

/** Moves without sizes, and remarks on them. */
interface WantedMoves {
  readonly moves: readonly PlannedMove[]
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
}

/** The shards of a store, to plan moves by. */
interface Planning extends CallOptions {
  readonly context: EngineContext
  readonly layout: StoreLayout
  sizesOf(number: number): Promise<BucketSizes>
}

async function wantedMoves(planning: Planning, request: MoveRequest): Promise<WantedMoves> {
  if (request === 'rebalance') return evenedMoves(planning)
  if (isRecord(request) && 'drain' in request) return drainingMoves(planning, request.drain)
  if (!isRecord(request))
    throw badArgument('shards.plan', "{ from, to, buckets }, { drain } or 'rebalance'", request)
  return { moves: [checkedPlan(planning.context, request as PlannedMove)], problems: [], warnings: [] }
}

async function drainingMoves(planning: Planning, number: number): Promise<WantedMoves> {
  const { context, layout, signal } = planning
  requireKind('The drain of shards.plan', number, {
    expected: `the number of a shard below ${layout.shards.length}`,
    fits: (value) => Number.isInteger(value) && layout.shards[value as number] !== undefined,
  })
  try {
    requireDrainable(layout, number)
  } catch (error) {
    return { moves: [], problems: [(error as LooseleafError).message], warnings: [] }
  }
  const open = await openMoves(context, { signal })
  const targets = servingShards(layout).filter((shard) => shard !== number)
  const [source, ...others] = await allSized(planning, open, [number, ...targets])
  return { moves: drainedBuckets(source!, others), problems: [], warnings: openWarnings(open) }
}

async function evenedMoves(planning: Planning): Promise<WantedMoves> {
  const { context, layout, signal } = planning
  const open = await openMoves(context, { signal })
  const shards = await allSized(planning, open, servingShards(layout))
  return { moves: evenedBuckets(shards), problems: [], warnings: openWarnings(open) }
}

async function allSized(
  planning: Planning,
  open: readonly OpenMove[],
  numbers: readonly number[],
): Promise<readonly SizedShard[]> {
  const shards = []
  for (const number of numbers) shards.push(await sized(planning, open, number))
  return shards
}

function openWarnings(open: readonly OpenMove[]): readonly string[] {
  return open.map(
    ({ move: { id, from, to } }) =>
      `Move ${id}, from shard ${from} to shard ${to}, is not over, and comes first. Its buckets are not in this plan.`,
  )
}

/** Returns the numbers of the shards that take buckets. */
function servingShards({ shards }: StoreLayout): readonly number[] {
  return shards.flatMap(({ state }, number) => (state === undefined ? [number] : []))
}

/** Returns the sizes of a shard's buckets. Buckets that are in a move count where they go, and cannot be chosen. */
async function sized(
  { layout, sizesOf }: Planning,
  open: readonly OpenMove[],
  number: number,
): Promise<SizedShard> {
  const sizes = await sizesOf(number)
  const inMotion = new Set(open.flatMap(({ move }) => bucketsIn(move.buckets)))
  const bytes = new Map<number, number>()
  for (const bucket of bucketsIn(layout.shards[number]?.buckets ?? ''))
    if (!inMotion.has(bucket)) bytes.set(bucket, sizes.get(bucket)?.bytes ?? 0)
  const fixed: number[] = []
  for (const { move, phase } of open) {
    if (number !== (phase === 'undoing' ? move.from : move.to)) continue
    // Once the announcement has ended, the source may have deleted some.
    const whole = phase === undefined ? sizes : await sizesOf(move.from)
    for (const bucket of bucketsIn(move.buckets)) fixed.push(whole.get(bucket)?.bytes ?? 0)
  }
  return { number, bytes, fixed }
}
