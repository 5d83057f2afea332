import {
  describeKind,
  isLooseleafError,
  isOutage,
  LooseleafError,
  type Codec,
  type EntityPageRow,
  type Shard,
} from '@looseleaf/core'

/** Rows of a shard, of those that were written first, and their bytes at the most; longer bodies are passed over. */
const ROWS = 8
const MAX_BODY = 64 * 1024

/** What the bodies that were looked at on one shard came to. */
interface CheckedBodies {
  readonly shard: string
  readonly readable: number
  readonly failures: readonly unknown[]
}

/**
 * Makes sure that this codec reads what the store holds, by a few bodies of each shard that answers. Throws `BODY_UNKNOWN` when
 * it reads none of them, on no shard: it is another codec, or has another key. One damaged body alone may have any codec, so it
 * is told as a warning, as is a shard that has nothing readable among others that have. Where there is nothing yet, all is well.
 */
export async function checkCodec(
  shards: readonly Shard[],
  codec: Codec,
  onWarning: (message: string) => void,
): Promise<void> {
  const looked = await Promise.all(shards.map((shard) => lookAt(shard, codec)))
  const unread = looked.filter(({ readable, failures }) => readable === 0 && failures.length > 0)
  const [first] = unread
  if (first === undefined) return
  const failures = unread.flatMap((one) => one.failures)
  const isWhole = failures.some((error) => isLooseleafError(error, 'BODY_UNKNOWN'))
  if (looked.every(({ readable }) => readable === 0) && (isWhole || failures.length > 1)) {
    throw new LooseleafError(
      'BODY_UNKNOWN',
      `The codec ${codec.name} reads none of the stored bodies that were tried: ${summary(first)} Open the store with the codec, and the key if it has one, that wrote them.`,
      { shard: first.shard, cause: first.failures[0] },
    )
  }
  for (const one of unread) {
    onWarning(
      `The codec ${codec.name} does not read the bodies that were looked at: ${summary(one)} \`looseleaf damaged\` lists what cannot be read.`,
    )
  }
}

function summary({ shard, failures: [error, ...others] }: CheckedBodies): string {
  // What else a codec throws may tell what is stored.
  const why = isLooseleafError(error) ? error.message : `The codec threw ${describeKind(error)}.`
  return `${others.length + 1} on shard ${shard}. Of the first: ${why}`
}

async function lookAt({ name, entities }: Shard, codec: Codec): Promise<CheckedBodies> {
  let readable = 0
  const failures: unknown[] = []
  for (const { body } of await firstRows(entities)) {
    if (body === null || body === undefined) continue
    try {
      codec.decode(body)
      readable++
    } catch (error) {
      // One that is above the codec's limit was recognised.
      if (isLooseleafError(error, 'BODY_TOO_LARGE')) readable++
      else failures.push(error)
    }
  }
  return { shard: name, readable, failures }
}

/** A shard that has just fallen silent, or has lost its table, says so to the calls that need it. */
async function firstRows(entities: Shard['entities']): Promise<readonly EntityPageRow[]> {
  try {
    return await entities.pageByAdded(0, ROWS, { maxBody: MAX_BODY })
  } catch (error) {
    if (isOutage(error) || isLooseleafError(error, 'NOT_MIGRATED')) return []
    throw error
  }
}
