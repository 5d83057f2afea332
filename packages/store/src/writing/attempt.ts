import { formatId, LooseleafError, type Bag } from '@looseleaf/core'
import type { PlacedCatalog } from '@looseleaf/index-engine/internal'
import type { CurrentEntity } from './decisions.ts'
import type { RowChange } from './row-change.ts'

/** The entity that a write is about, for its errors. */
export interface WriteTarget {
  readonly id: Uint8Array
  /** The name of its shard. */
  readonly shard: string
}

/** An attempt whose commit was sent. */
export interface Attempt {
  readonly found: CurrentEntity
  readonly body: Uint8Array | null
  readonly bag: Bag | null
  readonly rows: RowChange
  /** The catalog that its index rows and all shards were derived by. */
  readonly catalog: PlacedCatalog
  /** Number of the entity's shard. */
  readonly shard: number
  readonly indexed: boolean
}

/** An attempt whose commit was sent and got no answer. */
export interface UnsettledAttempt extends Attempt {
  /** The error of the commit. */
  readonly reason: LooseleafError
}

/** The attempts of one write that got no answer, by their versions. */
export type UnsettledAttempts = Map<number, UnsettledAttempt>

/** Returns the attempt that has committed the entity found; undefined if another write has, or none. */
export function committedAttempt(
  unsettled: UnsettledAttempts,
  found: CurrentEntity,
): UnsettledAttempt | undefined {
  const attempt = unsettled.get(found.version)
  // Another process may have chosen the same version. That is very rare, and the body tells the two writes apart.
  return attempt !== undefined && sameBody(attempt.body, found.body) ? attempt : undefined
}

/**
 * Throws `CONFLICT` if an unsettled attempt had another base than the entity found. If the next attempt wins from the same base, no
 * earlier one can be committed any more; from another base its success proves nothing about them.
 */
export function requireSameBase(
  unsettled: UnsettledAttempts,
  found: CurrentEntity,
  target: WriteTarget,
): void {
  for (const { found: base, reason } of unsettled.values())
    if (base.version !== found.version) throw lostTrack(target, 'was written by another writer since', reason)
}

/** Throws `CONFLICT` if an attempt is unsettled, because its commit may make "nothing was written" wrong. */
export function requireNoneUnsettled(unsettled: UnsettledAttempts, target: WriteTarget): void {
  const problem = 'needs no write now, but an earlier attempt of this call may still be committed'
  for (const { reason } of unsettled.values()) throw lostTrack(target, problem, reason)
}

/** Makes the error of a write that may begin no further attempt. `cause` is the error of the last one, if another write did not win. */
export function tooLate(
  { id, shard }: WriteTarget,
  tries: number,
  cause: LooseleafError | undefined,
): LooseleafError {
  const entity = formatId(id)
  if (tries === 0) {
    const waited =
      'its bucket was being moved to another shard during all of writeTimeoutMs, and nothing was written'
    return new LooseleafError(
      'DEADLINE',
      `Entity ${entity}: ${waited}. If this lasts, run \`looseleaf shard repair\`, which names the reason.`,
      { entity, shard, cause },
    )
  }
  const attempts = `${tries} ${tries === 1 ? 'attempt' : 'attempts'} failed within writeTimeoutMs`
  const reason = cause === undefined ? '' : ` The last one failed with: ${cause.message}`
  const message = `Entity ${entity}: ${attempts}, and no further one begins.${reason}`
  return new LooseleafError('DEADLINE', message, { entity, shard, cause })
}

/** Makes the error of a write that has lost every race. `cause` is the error of the last attempt, if another write did not win. */
export function tooManyAttempts(
  { id, shard }: WriteTarget,
  tries: number,
  cause: LooseleafError | undefined,
): LooseleafError {
  const entity = formatId(id)
  const message = `Entity ${entity}: other writers came first ${tries} times in a row.`
  return new LooseleafError('CONFLICT', message, { entity, shard, cause })
}

function lostTrack({ id, shard }: WriteTarget, problem: string, cause: LooseleafError): LooseleafError {
  const entity = formatId(id)
  return new LooseleafError('CONFLICT', `Entity ${entity} ${problem}.`, { entity, shard, cause })
}

/** Tells whether two stored bodies are equal; null is that of a tombstone. */
export function sameBody(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : Buffer.compare(a, b) === 0
}
