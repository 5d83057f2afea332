import type { CallOptions, LooseleafError } from '@looseleaf/core'
import { isOfShard, isOutage, withCallbacks } from '@looseleaf/core/internal'
import {
  askMigratedShards,
  contentsEpochOf,
  latestLayout,
  propagateCatalog,
  type EngineContext,
  type ShardAnswers,
} from '@looseleaf/index-engine/internal'
import { createMoveLine, openMoves, type MoveOptions, type MoveReport } from '@looseleaf/mover/internal'
import { beginTarget, loadOwn, ownerFaults } from '@looseleaf/protocol/internal'
import { addShard } from './add-shard.ts'

/** The work of `shards.repair`. All lists are empty if nothing was half done. */
export interface RepairReport {
  /** Numbers of shards whose catalog lacked the last contents, and has them now. */
  readonly catalogs: readonly number[]
  /** Numbers of shards whose join was interrupted, and that serve now. */
  readonly joined: readonly number[]
  /** Numbers of shards that began to serve buckets which another shard had given up to them. */
  readonly begun: readonly number[]
  /** Moves and undone moves that this call has brought to their end. */
  readonly moves: readonly MoveReport[]
  /** Faults that the call has not repaired, each with the next step for people. */
  readonly problems: readonly string[]
}

const NOTHING: RepairReport = { catalogs: [], joined: [], begun: [], moves: [], problems: [] }

/**
 * Ends every half-done state in one of its two good ones. Changes nothing while a shard does not answer, and while a bucket has two owners or
 * none: going on by the wrong one would lose writes.
 */
export async function repairShards(context: EngineContext, options: MoveOptions): Promise<RepairReport> {
  return withCallbacks(options, async (taken) => {
    const call = { signal: taken.signal }
    const answers = await askMigratedShards(context.driver, call)
    const { silent } = answers
    const silence = Array.from(
      silent,
      ([number, { message }]) => `Shard ${number} does not answer: ${message}`,
    )
    if (silence.length > 0) return { ...NOTHING, problems: silence }
    const faults = (await ownerFaults(context, call)).filter(({ isRepairable }) => !isRepairable)
    if (faults.length > 0) return { ...NOTHING, problems: faults.map(({ text }) => text) }

    const problems: string[] = []
    const catalogs = await copyCatalogs(context, answers, call)
    const joined = await finishJoins(context, answers, problems, call)
    const begun = await beginTargets(context, answers, call)
    const moves = await finishMoves(context, taken, problems)
    return { catalogs, joined, begun, moves, problems }
  })
}

async function copyCatalogs(
  { driver, catalog }: EngineContext,
  { catalogs }: ShardAnswers,
  options: CallOptions,
): Promise<readonly number[]> {
  const epochs = catalogs.map((each) => each && contentsEpochOf(each))
  const latest = Math.max(...epochs.map((epoch = 0) => epoch))
  catalog.adopt(await propagateCatalog(driver, options))
  return epochs.flatMap((epoch = latest, number) => (epoch < latest ? [number] : []))
}

async function finishJoins(
  context: EngineContext,
  { catalogs }: ShardAnswers,
  problems: string[],
  options: CallOptions,
): Promise<readonly number[]> {
  const joined: number[] = []
  for (const [number, { name, state }] of (latestLayout(catalogs)?.shards ?? []).entries()) {
    if (state !== 'joining') continue
    await addShard(context, name, options).then(
      () => joined.push(number),
      (error: unknown) =>
        problems.push(
          `Shard ${number}, ${name}, has not finished to join the store: ${faultOf(error).message} Add it again with its address.`,
        ),
    )
  }
  return joined
}

async function beginTargets(
  context: EngineContext,
  { catalogs }: ShardAnswers,
  options: CallOptions,
): Promise<readonly number[]> {
  const begun: number[] = []
  for (const [number, catalog] of catalogs.entries()) {
    if (catalog === undefined) continue
    const before = await loadOwn(context, number, options)
    if (before.serves.coming === undefined) continue
    await beginTarget(context, number, options)
    const { serves } = await loadOwn(context, number, options)
    if (serves.owns !== before.serves.owns) begun.push(number)
  }
  return begun
}

async function finishMoves(
  context: EngineContext,
  options: MoveOptions,
  problems: string[],
): Promise<readonly MoveReport[]> {
  const open = await openMoves(context, { signal: options.signal })
  const line = createMoveLine(context, options)
  for (const { move } of open) await line.begin(move)
  return (await line.settled()).flatMap((result, i) => {
    if (result.status === 'fulfilled') return [result.value]
    problems.push(`Move ${open[i]!.move.id} has stopped: ${stopText(result.reason)}`)
    return []
  })
}

function stopText(reason: unknown): string {
  const error = faultOf(reason)
  return `${error.message}${isOutage(error) ? ' Call shards.repair when the shard takes calls again.' : ''}`
}

/** Returns an error of the store, which leaves other work possible. Throws every other error, and those of a call that has to end. */
function faultOf(error: unknown): LooseleafError {
  if (!isOfShard(error)) throw error
  return error
}
