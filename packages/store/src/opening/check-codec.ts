import { isLooseleafError, LooseleafError } from '@looseleaf/core'
import { describeKind, isOutage, type EntityPageRow } from '@looseleaf/core/internal'
import type { Bodies, EngineContext } from '@looseleaf/index-engine/internal'
import type { BodySample } from './body-sample.ts'

export type Decoding = Pick<EngineContext, 'codec' | 'bodies'>

/** The checked bodies of one shard. */
interface CheckedBodies {
  readonly shard: string
  readonly readable: number
  readonly failures: readonly unknown[]
}

/**
 * Checks that the codec reads the stored bodies: the oldest of each shard, and the newest if it reads none of the oldest.
 *
 * Throws `BODY_UNKNOWN` if it reads no body on any shard and at least one is not damaged, because the codec or its key is then another
 * one. Only warns if all failures are damage, so that the store can be opened for repair, or if one shard alone has no readable body.
 * An empty store passes. Skips bodies for which `isReportedElsewhere` is true: they refer to lost codec entries.
 */
export async function checkCodec(
  samples: readonly BodySample[],
  { codec, bodies }: Decoding,
  onWarning: (message: string) => void,
  isReportedElsewhere: (body: Uint8Array) => boolean = () => false,
): Promise<void> {
  const checked = await Promise.all(samples.map((sample) => checkSample(sample, bodies, isReportedElsewhere)))
  const unread = checked.filter(({ readable, failures }) => readable === 0 && failures.length > 0)
  const other = unread.find(({ failures }) => failures.some(isNoDamage))
  if (other !== undefined && checked.every(({ readable }) => readable === 0)) {
    throw new LooseleafError(
      'BODY_UNKNOWN',
      `The codec ${codec.name} reads none of the stored bodies that were tried: ${summary(other)} Open the store with the codec, and the key if it has one, that wrote them.`,
      { shard: other.shard, cause: other.failures.find(isNoDamage) },
    )
  }
  for (const checkedBodies of unread) {
    onWarning(
      `The codec ${codec.name} reads none of the bodies that were tried: ${summary(checkedBodies)} They are damaged, or another codec wrote them. \`looseleaf damaged\` lists what cannot be read.`,
    )
  }
}

/** Returns false for `BODY_DAMAGED`, the error for a body that no codec of this kind can have written. */
function isNoDamage(error: unknown): boolean {
  return !isLooseleafError(error, 'BODY_DAMAGED')
}

function summary({ shard, failures }: CheckedBodies): string {
  const error = failures.find(isNoDamage) ?? failures[0]
  return `${failures.length} on shard ${shard}. The error of one: ${decodingProblem(error)}`
}

/** Returns a message without values. The message of any other error of a codec may hold stored values, so it stays in `cause`. */
export function decodingProblem(error: unknown): string {
  return isLooseleafError(error) ? error.message : `The codec threw ${describeKind(error)}.`
}

async function checkSample(
  sample: BodySample,
  bodies: Bodies,
  isReportedElsewhere: (body: Uint8Array) => boolean,
): Promise<CheckedBodies> {
  const { shard, rows } = sample
  const readAll = (page: readonly EntityPageRow[]): Promise<Omit<CheckedBodies, 'shard'>> => {
    const stored = page.flatMap(({ body }) => (body && !isReportedElsewhere(body) ? [body] : []))
    return readBodies(stored, bodies, shard)
  }
  const oldest = await sample.oldest()
  const first = await readAll(oldest)
  if (first.readable > 0 || oldest.length < rows) return { shard, ...first }
  // A bad page of a disk holds entities that were written one after the other, so the newest may be whole.
  const newest = await sample.newest()
  const seen = new Set(oldest.map(({ addedId }) => addedId))
  const second = await readAll(newest.filter(({ addedId }) => !seen.has(addedId)))
  return { shard, readable: second.readable, failures: [...first.failures, ...second.failures] }
}

async function readBodies(
  stored: readonly Uint8Array[],
  bodies: Bodies,
  shard: string,
): Promise<Omit<CheckedBodies, 'shard'>> {
  let readable = 0
  const failures: unknown[] = []
  for (const body of stored) {
    try {
      await bodies.decode(body, shard)
      readable++
    } catch (error) {
      // The codec has recognised a body that is above its limit.
      if (isLooseleafError(error, 'BODY_TOO_LARGE')) readable++
      // A shard that cannot be asked for codec entries says nothing about the codec.
      else if (!isOutage(error)) failures.push(error)
    }
  }
  return { readable, failures }
}
