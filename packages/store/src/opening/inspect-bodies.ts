import { isLooseleafError, type CallOptions, type Codec, type Shard } from '@looseleaf/core'
import { isOutage, type CodecEntries, type EntityPageRow } from '@looseleaf/core/internal'
import { presentShards, type EngineContext } from '@looseleaf/index-engine/internal'
import { sampleBodies, type BodySample } from './body-sample.ts'
import { decodingProblem, type Decoding } from './check-codec.ts'

/** Bytes. Longer bodies are skipped. */
const MAX_BODY = 16 * 1024

export interface InspectOptions extends CallOptions {
  /** Number of the oldest bodies of each shard to decode, and of those written last. */
  readonly rows: number
}

/** A codec entry that is damaged or lost. */
export interface BrokenCodecEntry {
  readonly id: string
  /** `shape`, `dictionary`, or the kind in a damaged row. */
  readonly kind: string
  /** Names of the shards whose row does not match its id, or has a kind that this process does not know. */
  readonly damagedOn: readonly string[]
  /** True if no shard has it whole. Bodies that refer to it are then `BODY_UNKNOWN`. */
  readonly isLost: boolean
  /** Number of bodies in the sample that refer to it. */
  readonly bodies: number
}

/** The result of an inspection of some bodies. */
export interface BodyInspection {
  readonly bodies: number
  /** False if a shard did not answer, so that there may be more to find. */
  readonly isWhole: boolean
  /** Broken codec entries, most referred to first. Empty if the codec entries of a shard could not be read. */
  readonly broken: readonly BrokenCodecEntry[]
  /** Bodies that cannot be decoded, and refer to no lost codec entry. */
  readonly undecodable: number
  /** The problem of one of these; undefined if there is none. */
  readonly why: string | undefined
}

/** The reference of a body to a codec entry. */
type Reference = Pick<BrokenCodecEntry, 'id' | 'kind'>

interface InspectedSample {
  readonly bodies: number
  readonly references: readonly Reference[]
  readonly failures: readonly { readonly refersTo: readonly Reference[]; readonly error: unknown }[]
  /** False if the codec entries of a body could not be looked for, because a shard does not answer. */
  readonly isWhole: boolean
}

/** The row of a codec entry on one shard. */
interface StoredRow {
  readonly shard: string
  readonly id: string
  readonly kind: string
  readonly isIntact: boolean
}

/**
 * Decodes the oldest bodies of each shard and those written last, and checks that the codec entries that they refer to are stored whole.
 * Codec entries in the memory of this process do not count, since other processes may lack them. Leaves out a shard that does not answer.
 */
export async function inspectBodies(
  context: Pick<EngineContext, 'driver' | 'codec' | 'bodies'>,
  { rows, ...call }: InspectOptions,
): Promise<BodyInspection> {
  const shards = presentShards(context.driver)
  const samples = shards.map((shard) => sampleBodies(shard, { rows, maxBody: MAX_BODY, ...call }))
  return inspectSamples(samples, shards, context, call)
}

/** As `inspectBodies`, with existing samples of these shards. */
export async function inspectSamples(
  samples: readonly BodySample[],
  shards: readonly Shard[],
  decoding: Decoding,
  call: CallOptions = {},
): Promise<BodyInspection> {
  const inspected = await Promise.all(samples.map((sample) => inspectSample(sample, decoding)))
  const { codec } = decoding
  // Read after the bodies, because a codec entry is stored before the bodies that refer to it.
  const stored = await storedRows(shards, codec, call)
  const broken = stored === undefined ? [] : brokenOf(inspected, stored)
  const lost = new Set(broken.filter(({ isLost }) => isLost).map(({ id }) => id))
  const others = inspected
    .flatMap(({ failures }) => failures)
    .filter(({ refersTo }) => !refersTo.some(({ id }) => lost.has(id)))
  return {
    bodies: inspected.reduce((sum, { bodies }) => sum + bodies, 0),
    isWhole:
      samples.every(({ answers }) => answers) &&
      inspected.every(({ isWhole }) => isWhole) &&
      (stored !== undefined || !('codecEntries' in codec)),
    broken,
    undecodable: others.length,
    why: others[0] && decodingProblem(others[0].error),
  }
}

async function inspectSample(sample: BodySample, { codec, bodies }: Decoding): Promise<InspectedSample> {
  const references: Reference[] = []
  const failures: { readonly refersTo: readonly Reference[]; readonly error: unknown }[] = []
  const seen = new Set<number>()
  let seenBodies = 0
  let isWhole = true

  async function decodeAll(rows: readonly EntityPageRow[]): Promise<void> {
    for (const { addedId, body } of rows) {
      if (body === null || body === undefined || seen.has(addedId)) continue
      seen.add(addedId)
      seenBodies++
      const { shape, dictionary } = codec.describe?.(body) ?? {}
      const refersTo = Object.entries({ shape, dictionary }).flatMap(([kind, id]) =>
        id === undefined ? [] : [{ kind, id }],
      )
      references.push(...refersTo)
      try {
        await bodies.decode(body, sample.shard)
      } catch (error) {
        if (isOutage(error)) isWhole = false
        // The codec has recognised a body that is above its limit.
        else if (!isLooseleafError(error, 'BODY_TOO_LARGE')) failures.push({ refersTo, error })
      }
    }
  }

  await decodeAll(await sample.oldest())
  await decodeAll(await sample.newest())
  return { bodies: seenBodies, references, failures, isWhole }
}

/** Reads the codec entries of every shard. Returns undefined if a shard does not answer, or if the codec has no codec entries. */
async function storedRows(
  shards: readonly Shard[],
  codec: Codec,
  call: CallOptions,
): Promise<readonly StoredRow[] | undefined> {
  if (!('codecEntries' in codec)) return undefined
  const { learn } = codec.codecEntries as CodecEntries
  try {
    const onShards = await Promise.all(
      shards.map(async ({ name, codecEntries }) => {
        const rows = await codecEntries.all(call).catch((error: unknown) => {
          if (isLooseleafError(error, 'NOT_MIGRATED')) return []
          throw error
        })
        return rows.map((row) => ({ shard: name, id: row.id, kind: row.kind, isIntact: learn(row) }))
      }),
    )
    return onShards.flat()
  } catch (error) {
    if (isOutage(error)) return undefined
    throw error
  }
}

function brokenOf(
  inspected: readonly InspectedSample[],
  stored: readonly StoredRow[],
): readonly BrokenCodecEntry[] {
  const rows = Map.groupBy(stored, ({ id }) => id)
  const references = Map.groupBy(
    inspected.flatMap((sample) => sample.references),
    ({ id }) => id,
  )
  return Array.from(new Set([...references.keys(), ...rows.keys()]), (id) => {
    const copies = rows.get(id) ?? []
    const referring = references.get(id) ?? []
    return {
      id,
      kind: referring[0]?.kind ?? copies[0]?.kind ?? '',
      damagedOn: copies.filter(({ isIntact }) => !isIntact).map(({ shard }) => shard),
      isLost: !copies.some(({ isIntact }) => isIntact),
      bodies: referring.length,
    }
  })
    .filter(({ isLost, damagedOn }) => isLost || damagedOn.length > 0)
    .toSorted((a, b) => b.bodies - a.bodies)
}

/** Describes, for people, the problem of a broken codec entry and its repair. */
export function brokenText(
  { id, kind, damagedOn, isLost, bodies }: BrokenCodecEntry,
  inspection: BodyInspection,
): { readonly about: string; readonly problem: string; readonly instruction: string } {
  const where = damagedOn.join(', ')
  const referring = `${bodies} of the ${inspection.bodies} bodies that were looked at refer to it${isLost ? ': they are BODY_UNKNOWN' : ''}`
  const problem = damagedOn.length === 0 ? 'no shard that answers has it' : `its row is damaged on ${where}`
  const whole = damagedOn.length > 0 && isLost ? ', and no shard has it whole' : ''
  const first = damagedOn.length > 0 ? 'delete the damaged row; ' : ''
  return {
    about: `${kind} ${id.slice(0, 40)}`,
    problem: `${problem}${whole}; ${referring}`,
    instruction: isLost
      ? `${first}put its row of looseleaf_codec back from a backup of any shard, before anything is deleted`
      : `${first}the next process that opens the store puts it back from another shard`,
  }
}
