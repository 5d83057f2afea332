import { formatId, LooseleafError, type CallOptions, type EntityId } from '@looseleaf/core'
import {
  chunks,
  optionKinds,
  withCallbacks,
  type CatalogEntry,
  type OptionKinds,
} from '@looseleaf/core/internal'
import { isClaimsOf, keptRowsMs, presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import { allBuckets, checkStore, pagesOfRows, type AnyStore } from '@looseleaf/protocol/internal'
import pLimit from 'p-limit'
import { danglingAmong } from '../look/dangling-among.ts'
import { derivedBatches } from '../look/derive-entity.ts'
import { inspect } from '../look/inspect.ts'
import { isRead } from '../look/is-read.ts'
import { entitiesOfShard, unreadEntities } from '../look/walk-entities.ts'
import { recheck } from '../look/recheck.ts'
import { checkName } from '../pass/check-names.ts'
import { reportDuplicates } from '../look/report-duplicates.ts'
import {
  cleanableIndexes,
  indexesNamed,
  indexTarget,
  type IndexName,
  type IndexTarget,
} from '../pass/index-target.ts'
import { rate, type Problem } from '../pass/pass-options.ts'
import { createPass, type Pass } from '../pass/pass.ts'
import { TUNING, type Tuned } from '../pass/tuning.ts'
import { untilOneFails } from '../tools/until-one-fails.ts'
import { candidatesOf, confirm, mergeCandidates, type Candidate, type ConfirmOptions } from './confirm.ts'

export interface CheckOptions extends CallOptions {
  /** Largest number of entities and index rows read per second. Default: no limit. */
  readonly rowsPerSecond?: number | undefined
  /** Called for every undecodable body, misfit and duplicate key. */
  readonly onProblem?: ((problem: Problem) => void) | undefined
}

const checkOptionKinds: OptionKinds<CheckOptions> = {
  signal: optionKinds.signal,
  rowsPerSecond: rate,
  onProblem: optionKinds.function,
}

/** Result of comparing an index with all entities. A check repairs nothing. */
export interface CheckResult {
  readonly index: string
  readonly generation: number
  /** Entities that were compared, without tombstones. An entity whose bucket moves meanwhile may count twice. */
  readonly entities: number
  /** Rows of the index, without its claims. */
  readonly rows: number
  /** Rows that the index lacks where queries read them, although the committed entity has them. Must be 0 for a ready index. */
  readonly missing: number
  /**
   * Keys of a unique index without a claim of their entity, because another entity has the claim (see `onProblem`) or no entity has it yet.
   * Must be 0 once the claims are ready.
   */
  readonly unclaimed: number
  /** Rows that match no committed entity. Each costs queries a read, and has no other effect. */
  readonly dangling: number
  /** Rows that match their entity but belong on another shard. */
  readonly misplaced: number
  /** Values that the index cannot hold. */
  readonly misfits: number
  /** Bodies that cannot be decoded. Their rows count as correct. */
  readonly undecodable: number
  /** Entities that were written at every look, so their rows could not be judged. */
  readonly unsettled: number
  /** Up to 20 entities with a missing, dangling or misplaced row, or an undecodable body. */
  readonly examples: readonly EntityId[]
}

const MAX_EXAMPLES = 20
/** Number of suspect entities that are collected before they are looked at again. */
const CANDIDATES_AT_ONCE = 2000
/** Rows that are compared with their entities at once. */
const ROWS_AT_ONCE = 100

const noCounts = () => ({
  rows: 0,
  missing: 0,
  unclaimed: 0,
  dangling: 0,
  misplaced: 0,
  unsettled: 0,
  examples: new Set<EntityId>(),
})

type Counts = ReturnType<typeof noCounts>

/**
 * Recomputes an index from all entities and compares it with its rows, in both directions. Writers may run at the same time: a row that
 * seems wrong is looked at again before it counts. A plain name means the generation that is being filled, or whose claims are, if there is
 * one; `{ name, generation }` names any other. Throws `INDEX_NOT_FOUND`.
 */
export async function checkIndex(
  store: AnyStore,
  name: IndexName,
  options: CheckOptions = {},
): Promise<CheckResult> {
  checkStore('checkIndex', store, options, checkOptionKinds)
  return tunedCheckIndex(store, name, options)
}

/** As `checkIndex`, with a tuning, and without a check of the options. */
export async function tunedCheckIndex(
  store: AnyStore,
  name: IndexName,
  options: Tuned<CheckOptions> = {},
): Promise<CheckResult> {
  checkName('checkIndex', name)
  return withCallbacks(options, (taken) => compare(store.context, name, taken))
}

async function compare(
  context: EngineContext,
  name: IndexName,
  options: Tuned<CheckOptions>,
): Promise<CheckResult> {
  await context.catalog.reload({ signal: options.signal })
  const entries = indexesNamed(context, name)
  const rows = entries.filter(({ unique }) => !unique)
  const isFilled = (entry: CatalogEntry): boolean =>
    entries.some((other) => other.state === 'building' && isClaimsOf(other, entry))
  const entry = rows.find(isFilled) ?? rows[0]
  if (entry === undefined)
    throw new LooseleafError('INDEX_NOT_FOUND', `The store has no index ${JSON.stringify(name)}.`)
  const claims = cleanableIndexes(context).find((other) => isClaimsOf(other, entry))
  const result = await compareEntry(context, entry, options)
  if (claims === undefined) return result
  const onProblem = (problem: Problem): void => {
    // The comparison of the rows has reported the other kinds already.
    if (problem.kind === 'duplicate') options.onProblem?.(problem)
  }
  const claimsResult = await compareEntry(context, claims, { ...options, onProblem })
  return {
    ...result,
    unclaimed: claimsResult.unclaimed,
    dangling: result.dangling + claimsResult.dangling,
    misplaced: result.misplaced + claimsResult.misplaced,
    unsettled: result.unsettled + claimsResult.unsettled,
    examples: [...new Set([...result.examples, ...claimsResult.examples])].slice(0, MAX_EXAMPLES),
  }
}

async function compareEntry(
  context: EngineContext,
  entry: CatalogEntry,
  options: Tuned<CheckOptions>,
): Promise<CheckResult> {
  const target = indexTarget(context, entry)
  const settleMs = options.settleMs ?? TUNING.settleMs
  const keptMs = keptRowsMs(context.catalog.current())
  const counts = noCounts()
  const onProblem = (problem: Problem): void => {
    if (problem.kind === 'undecodable') addExample(counts, problem.entity)
    options.onProblem?.(problem)
  }
  const pass = createPass(context, { ...options, onProblem })
  const limit = pLimit(options.shardsAtOnce ?? TUNING.shardsAtOnce)
  const unread = allBuckets(context)
  const toRows = (part: Pass, pages: ReturnType<typeof entitiesOfShard>): Promise<void> =>
    checkEntities(part, target, pages, settleMs, counts)
  await untilOneFails(
    options.signal,
    presentNumbers(context.driver).flatMap((shard) => [
      (signal) =>
        limit(() => toRows({ ...pass, signal }, entitiesOfShard({ ...pass, signal }, shard, unread))),
      // Lost rows are kept for this long on purpose.
      (signal) => limit(() => checkRows({ ...pass, signal }, target, shard, keptMs + settleMs, counts)),
    ]),
  )
  await toRows(pass, unreadEntities(pass, unread))
  const { entities, misfits, undecodable } = pass.tally
  return {
    ...counts,
    entities,
    index: entry.name,
    generation: entry.generation,
    misfits,
    undecodable,
    examples: [...counts.examples],
  }
}

/** Compares entities with their rows, and counts missing rows. */
async function checkEntities(
  pass: Pass,
  target: IndexTarget,
  pages: ReturnType<typeof entitiesOfShard>,
  settleMs: number,
  counts: Counts,
): Promise<void> {
  const suspects = createSuspects(pass, target, { direction: 'missing', settleMs }, counts)
  for await (const page of pages) {
    const living = page.filter(({ body }) => body !== null)
    for await (const entities of derivedBatches(pass, [target], living)) {
      const { missing } = await inspect(pass, [target], entities, { everywhere: false })
      suspects.add({ missing: missing.filter((row) => isRead(pass, row)) })
    }
    if (suspects.areMany) await suspects.settle()
  }
  await suspects.settle()
}

/** Compares the rows on a shard with their entities, and counts dangling and misplaced rows. */
async function checkRows(
  pass: Pass,
  target: IndexTarget,
  shard: number,
  settleMs: number,
  counts: Counts,
): Promise<void> {
  const suspects = createSuspects(pass, target, { direction: 'dangling', settleMs }, counts)
  for await (const page of pagesOfRows(pass, target.entry, shard, { limit: pass.maxPage })) {
    counts.rows += page.length
    for (const chunk of chunks(
      page.map((row) => ({ target, row })),
      ROWS_AT_ONCE,
    )) {
      suspects.add({
        dangling: await recheck(pass, (silentPass) => danglingAmong(silentPass, shard, chunk)),
      })
    }
    if (suspects.areMany) await suspects.settle()
  }
  await suspects.settle()
}

/** Collects rows that seem wrong in one direction, then looks at them again and counts them. */
function createSuspects(pass: Pass, target: IndexTarget, options: ConfirmOptions, counts: Counts) {
  const candidates = new Map<string, Candidate>()
  return {
    add: (found: Parameters<typeof candidatesOf>[0]) => mergeCandidates(candidates, candidatesOf(found)),
    get areMany() {
      return candidates.size >= CANDIDATES_AT_ONCE
    },
    async settle() {
      const found = await recheck(pass, (silentPass) => confirm(silentPass, target, candidates, options))
      candidates.clear()
      const missing = found.missing.filter((row) => isRead(pass, row))
      if (target.entry.unique) await reportDuplicates(pass, missing)
      const misplaced = found.dangling.filter((row) => row.misplaced).length
      counts[target.entry.unique ? 'unclaimed' : 'missing'] += missing.length
      counts.misplaced += misplaced
      counts.dangling += found.dangling.length - misplaced
      counts.unsettled += found.unsettled.length
      const wrong = [...missing, ...found.dangling].map(({ entity }) => entity.id)
      for (const id of [...wrong, ...found.unsettled]) addExample(counts, formatId(id))
    },
  }
}

function addExample(counts: Counts, id: EntityId): void {
  if (counts.examples.size < MAX_EXAMPLES) counts.examples.add(id)
}
