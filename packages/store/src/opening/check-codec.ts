import {
  describeKind,
  isLooseleafError,
  LooseleafError,
  type Codec,
  type EntityPageRow,
} from '@looseleaf/core'
import type { BodySample } from './body-sample.ts'

/** What the bodies that were looked at on one shard came to. */
interface CheckedBodies {
  readonly shard: string
  readonly readable: number
  readonly failures: readonly unknown[]
}

/**
 * Makes sure that this codec reads what the store holds, by the oldest bodies of each shard that answers, and the newest where it
 * reads none of those. Throws `BODY_UNKNOWN` when it reads none on any shard, and says of one at least that it is no damage: it is
 * another codec, or has another key. Damage alone, which any codec may meet, is a warning, so that it can be repaired; so is a
 * shard that has nothing readable among others that have. Where there is nothing yet, all is well. Bodies that are told elsewhere are
 * passed over: what they refer to is lost, which is no other codec.
 */
export async function checkCodec(
  samples: readonly BodySample[],
  codec: Codec,
  onWarning: (message: string) => void,
  isToldElsewhere: (body: Uint8Array) => boolean = () => false,
): Promise<void> {
  const looked = await Promise.all(samples.map((sample) => lookAt(sample, codec, isToldElsewhere)))
  const unread = looked.filter(({ readable, failures }) => readable === 0 && failures.length > 0)
  const other = unread.find(({ failures }) => failures.some(isNoDamage))
  if (other !== undefined && looked.every(({ readable }) => readable === 0)) {
    throw new LooseleafError(
      'BODY_UNKNOWN',
      `The codec ${codec.name} reads none of the stored bodies that were tried: ${summary(other)} Open the store with the codec, and the key if it has one, that wrote them.`,
      { shard: other.shard, cause: other.failures.find(isNoDamage) },
    )
  }
  for (const one of unread) {
    onWarning(
      `The codec ${codec.name} does not read the bodies that were looked at: ${summary(one)} They are damaged, or another codec wrote them. \`looseleaf damaged\` lists what cannot be read.`,
    )
  }
}

/** A codec says `BODY_DAMAGED` of what no codec of its kind has written. */
function isNoDamage(error: unknown): boolean {
  return !isLooseleafError(error, 'BODY_DAMAGED')
}

function summary({ shard, failures }: CheckedBodies): string {
  const error = failures.find(isNoDamage) ?? failures[0]
  return `${failures.length} on shard ${shard}. Of one: ${whyOf(error)}`
}

/** What else a codec throws may tell what is stored, which is nothing for logs: whoever needs it has the error's `cause`. */
export function whyOf(error: unknown): string {
  return isLooseleafError(error) ? error.message : `The codec threw ${describeKind(error)}.`
}

async function lookAt(
  sample: BodySample,
  codec: Codec,
  isToldElsewhere: (body: Uint8Array) => boolean,
): Promise<CheckedBodies> {
  const readAll = (rows: readonly EntityPageRow[]): Omit<CheckedBodies, 'shard'> =>
    readBodies(
      rows.flatMap(({ body }) => (body && !isToldElsewhere(body) ? [body] : [])),
      codec,
    )
  const { shard, rows } = sample
  const oldest = await sample.oldest()
  const first = readAll(oldest)
  if (first.readable > 0 || oldest.length < rows) return { shard, ...first }
  // A bad page of a disk has entities that were written one after the other: others may be whole.
  const newest = await sample.newest()
  const seen = new Set(oldest.map(({ addedId }) => addedId))
  const second = readAll(newest.filter(({ addedId }) => !seen.has(addedId)))
  return { shard, readable: second.readable, failures: [...first.failures, ...second.failures] }
}

function readBodies(bodies: readonly Uint8Array[], codec: Codec): Omit<CheckedBodies, 'shard'> {
  let readable = 0
  const failures: unknown[] = []
  for (const body of bodies) {
    try {
      codec.decode(body)
      readable++
    } catch (error) {
      // One that is above the codec's limit was recognised.
      if (isLooseleafError(error, 'BODY_TOO_LARGE')) readable++
      else failures.push(error)
    }
  }
  return { readable, failures }
}
