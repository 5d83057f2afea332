import { LooseleafError, type CallOptions } from '@looseleaf/core'
import { idKey } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { readAtOwners } from '@looseleaf/protocol/internal'
import type { EntityReader } from '../../reading/entities/entity-reader.ts'
import { sameBody } from '../attempt.ts'
import { isDurable } from '../is-durable.ts'

/** Reads before `CONFLICT`. Each further one follows another write of an entity. */
const MAX_TRIES = 64

/** An attempt at a batch whose commit was sent and got no answer. */
export interface UnsettledBatch {
  readonly version: number
  readonly rows: readonly BatchedRow[]
  /** The error of the commit. */
  readonly reason: LooseleafError
}

export interface BatchedRow {
  readonly id: Uint8Array
  /** Version that was read; 0 if there was neither an entity nor a tombstone. */
  readonly base: number
  /** False for an entity that the attempt only holds. */
  readonly isWritten: boolean
  readonly body: Uint8Array | null
}

/**
 * - an attempt: it was committed, and a crash cannot undo that.
 * - `open`: no attempt was committed, and one still may be. All entities have the versions that the attempts replace, so the first commit
 *   from these versions shuts all others out.
 * - `refuted`: no attempt was committed, and none will be.
 */
export type ReadBack<Attempt> = Attempt | 'open' | 'refuted'

/**
 * Finds out which attempt at a batch was committed, by the versions of all entities in one statement. All attempts have the same bases.
 *
 * An attempt commits all of its entities at once. So one entity that has its base proves that no attempt was committed when it was read. If
 * another entity was written by then, no attempt can be committed any more. That needs one snapshot: an attempt that commits between two
 * reads shows an entity at its base in the first, and in the second another writer's version that followed it.
 *
 * Throws `CONFLICT` if every entity was written since, because an attempt may be among the versions in between.
 */
export async function readBack<Attempt extends UnsettledBatch>(
  context: EngineContext,
  reader: Pick<EntityReader, 'row'>,
  attempts: readonly Attempt[],
  options: CallOptions,
): Promise<ReadBack<Attempt>> {
  const { rows, reason } = attempts[0]!
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const versions = await readVersions(context, rows, options)
    const versionOf = ({ id }: BatchedRow): number => versions.get(idKey(id)) ?? 0
    const attempt = attempts.find(({ version }) => rows.some((row) => versionOf(row) === version))
    const own = rows.filter((row) => versionOf(row) === attempt?.version)
    const state = attempt === undefined ? 'another' : await compareBody(reader, attempt, own[0]!, options)
    const ids = own.map(({ id }) => id)
    if (state === 'same' && (await isDurable(context, attempt!.version, ids, options))) return attempt!
    if (state !== 'another') continue
    const isAtBase = (row: BatchedRow): boolean => versionOf(row) === row.base
    if (rows.every(isAtBase)) return 'open'
    if (rows.some((row) => row.isWritten && isAtBase(row))) return 'refuted'
    break
  }
  throw new LooseleafError(
    'CONFLICT',
    'Every entity of the batch was written by another writer since. An attempt without an answer may have been committed before that.',
    { cause: reason },
  )
}

/**
 * Compares the body of an entity that has the version of an attempt: another process may have chosen the same version, which is very rare.
 * `moved`: it was written again since.
 */
async function compareBody(
  reader: Pick<EntityReader, 'row'>,
  { version, rows }: UnsettledBatch,
  { id }: BatchedRow,
  options: CallOptions,
): Promise<'same' | 'another' | 'moved'> {
  const found = await reader.row(id, options)
  if (found?.version !== version) return 'moved'
  const written = rows.find((row) => idKey(row.id) === idKey(id))
  return written?.isWritten && sameBody(written.body, found.body) ? 'same' : 'another'
}

/** Reads the versions of all entities of a batch at their owner, in one statement. */
async function readVersions(
  context: EngineContext,
  rows: readonly BatchedRow[],
  options: CallOptions,
): Promise<ReadonlyMap<string, number | undefined>> {
  const found = new Map<string, number | undefined>()
  await readAtOwners(
    context,
    rows.map(({ id }) => id),
    async ({ shard, ids, areOwned }) => {
      const versions = await shard.entities.readVersions(ids, options)
      if (!(await areOwned())) return ids
      for (const [i, id] of ids.entries()) found.set(idKey(id), versions[i])
      return []
    },
    options,
  )
  return found
}
