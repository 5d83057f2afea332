import type { FaultKind } from '../faults/faults.ts'
import { noFaults } from '../faults/faults.ts'
import { noCheckCounts, type BrokenCheck, type CheckCounts } from '../checks.ts'
import type { Counts } from '../history/evidence.ts'
import { noOutcomes, type MoveOutcome } from '../processes/mover.ts'
import type { SimulationResult } from './simulation.ts'

export interface Violation extends BrokenCheck {
  readonly seed: number
}

/** Sum over many lives. It depends only on the seeds, not on the number of processes. */
export interface SimulationTotals extends Counts {
  seeds: number
  /** Statements that arrived and timers that fired. */
  steps: number
  /** How often the tables were checked for missing rows: after every step that changed something. */
  checks: number
  /** How often each check was made. */
  readonly checked: CheckCounts
  /** How often each kind of fault happened. */
  readonly faults: Record<FaultKind, number>
  /** How often each outcome of a mover's call occurred. */
  readonly moves: Record<MoveOutcome, number>
  /** Number of lives by their circumstances. */
  readonly lives: {
    indexFirst: number
    entityFirst: number
    deferring: number
    withDeleteDelay: number
    withWrongClocks: number
    /** Lives in which entities compete for keys of unique indexes. */
    withKeys: number
    /** Lives whose clients read from replicas. */
    withReplicas: number
    /** Lives in which processes share a cache. */
    withSharedCache: number
    /** Lives in which buckets move. */
    withMoves: number
    /** Lives in which all entities have one bucket. */
    near: number
    /** Part of `withMoves`: a shard has joined. */
    joined: number
    /** Part of `withMoves`: a shard was removed. */
    removed: number
    /** Part of `withMoves`: processes share a consumer of the changes. */
    withConsumer: number
    /** Part of the lives with a delay: a whole shard fell back, which is beyond the promise. */
    beyondPromise: number
    /** Part of `beyondPromise`: an operator repaired the failover, so that all promises held again. */
    repaired: number
  }
  violations: Violation[]
}

export function noTotals(): SimulationTotals {
  return {
    seeds: 0,
    steps: 0,
    checks: 0,
    operations: 0,
    acknowledged: 0,
    failed: 0,
    unknown: 0,
    reads: 0,
    queries: 0,
    checked: noCheckCounts(),
    faults: { ...noFaults },
    moves: { ...noOutcomes },
    lives: {
      indexFirst: 0,
      entityFirst: 0,
      deferring: 0,
      withDeleteDelay: 0,
      withWrongClocks: 0,
      withKeys: 0,
      withReplicas: 0,
      withSharedCache: 0,
      withMoves: 0,
      near: 0,
      joined: 0,
      removed: 0,
      withConsumer: 0,
      beyondPromise: 0,
      repaired: 0,
    },
    violations: [],
  }
}

export function totalsOf(result: SimulationResult): SimulationTotals {
  const {
    writeOrder,
    onIndexFailure,
    deleteDelayMs,
    maxSkewMs,
    failoverOf,
    clients,
    replicasEach,
    cacheMs,
    movers,
    isNear,
    hasConsumer,
  } = result.circumstances
  const { failover } = result.happened
  return {
    ...result.counts,
    seeds: 1,
    steps: result.steps,
    checks: result.checks,
    checked: { ...result.checked },
    faults: { ...result.happened },
    moves: { ...result.moves },
    lives: {
      indexFirst: Number(writeOrder === 'index-first'),
      entityFirst: Number(writeOrder === 'entity-first'),
      deferring: Number(onIndexFailure === 'defer'),
      withDeleteDelay: Number(deleteDelayMs > 0),
      withWrongClocks: Number(maxSkewMs > 0),
      withKeys: Number(clients === 'keys'),
      withReplicas: Number(replicasEach > 0),
      withSharedCache: Number(cacheMs > 0),
      withMoves: Number(movers > 0),
      near: Number(isNear),
      joined: Number(result.moves.joined > 0),
      removed: Number(result.moves.removed > 0),
      withConsumer: Number(hasConsumer),
      beyondPromise: Number(failover > 0 && failoverOf === 'everything'),
      repaired: Number(result.repairs > 0),
    },
    violations: result.violation === undefined ? [] : [{ seed: result.seed, ...result.violation }],
  }
}

/** Adds `more` to `totals`. */
export function addTotals(totals: SimulationTotals, more: SimulationTotals): void {
  addNumbers(totals, more)
  addNumbers(totals.checked, more.checked)
  addNumbers(totals.faults, more.faults)
  addNumbers(totals.moves, more.moves)
  addNumbers(totals.lives, more.lives)
  totals.violations = [...totals.violations, ...more.violations].toSorted((a, b) => a.seed - b.seed)
}

function addNumbers<Sums extends object>(sums: Sums, more: Sums): void {
  for (const name of Object.keys(sums) as (keyof Sums)[]) {
    const [sum, part] = [sums[name], more[name]]
    if (typeof sum === 'number' && typeof part === 'number') Object.assign(sums, { [name]: sum + part })
  }
}
