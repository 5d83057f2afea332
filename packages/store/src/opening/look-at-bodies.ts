import {
  isLooseleafError,
  isOutage,
  type CallOptions,
  type Codec,
  type CodecDefinitions,
  type EntityPageRow,
  type Shard,
} from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { sampleBodies, type BodySample } from './body-sample.ts'
import { whyOf } from './check-codec.ts'

/** Longer bodies are passed over. */
const MAX_BODY = 16 * 1024

export interface LookOptions extends CallOptions {
  /** Bodies of a shard that are looked at: so many of the oldest, and of those that were written last. */
  readonly rows: number
}

/** A definition that is not stored as it was. */
export interface BrokenDefinition {
  readonly id: string
  /** `shape`, `dictionary`, or what a damaged row says. */
  readonly kind: string
  /** Names of the shards whose row of it is not what its id stands for, or of a kind that this process does not know. */
  readonly damagedOn: readonly string[]
  /** Whether some shard has it as it was. If none has, what refers to it is `BODY_UNKNOWN`. */
  readonly isLost: boolean
  /** Bodies that were looked at and refer to it. */
  readonly bodies: number
}

/** What a look at some bodies has found. */
export interface BodiesLook {
  /** Bodies that were looked at. */
  readonly bodies: number
  /** False where a shard did not answer: there may be more to find. */
  readonly isWhole: boolean
  /** Those that most bodies refer to first. Empty where a shard did not say what it has. */
  readonly broken: readonly BrokenDefinition[]
  /** Bodies that cannot be decoded, although they refer to nothing that is lost. */
  readonly undecodable: number
  /** Why one of these cannot be decoded; undefined where there is none. */
  readonly why: string | undefined
}

/** What bodies refer to, and how many do. */
type References = Map<string, { readonly kind: string; bodies: number }>

interface LookAtShard {
  readonly bodies: number
  readonly references: References
  readonly failures: readonly { readonly refersTo: readonly string[]; readonly error: unknown }[]
}

/** What a shard has of a definition. */
interface StoredRow {
  readonly shard: string
  readonly id: string
  readonly kind: string
  readonly isWhole: boolean
}

/**
 * Decodes the oldest bodies of each shard and those that were written last, and looks whether what they refer to is still stored, as
 * it was. What this process knows already does not count for that: others may not. A shard that falls silent is left out.
 */
export async function lookAtBodies(
  { driver: { shards }, codec }: Pick<EngineContext, 'driver' | 'codec'>,
  { rows, ...call }: LookOptions,
): Promise<BodiesLook> {
  const samples = shards.map((shard) => sampleBodies(shard, { rows, maxBody: MAX_BODY, ...call }))
  return lookAtSamples(samples, shards, codec, call)
}

/** The same for samples of these shards that serve others too. */
export async function lookAtSamples(
  samples: readonly BodySample[],
  shards: readonly Shard[],
  codec: Codec,
  call: CallOptions = {},
): Promise<BodiesLook> {
  const looks = await Promise.all(samples.map((sample) => lookAt(sample, codec)))
  // After the bodies: what they refer to was stored before them.
  const stored = await storedRows(shards, codec, call)
  const broken = stored === undefined ? [] : brokenOf(looks, stored)
  const lost = new Set(broken.filter(({ isLost }) => isLost).map(({ id }) => id))
  const others = looks
    .flatMap(({ failures }) => failures)
    .filter(({ refersTo }) => !refersTo.some((id) => lost.has(id)))
  return {
    bodies: looks.reduce((sum, look) => sum + look.bodies, 0),
    isWhole: samples.every(({ answers }) => answers) && (stored !== undefined || !('definitions' in codec)),
    broken,
    undecodable: others.length,
    why: others[0] && whyOf(others[0].error),
  }
}

async function lookAt(sample: BodySample, codec: Codec): Promise<LookAtShard> {
  const references: References = new Map()
  const failures: { readonly refersTo: readonly string[]; readonly error: unknown }[] = []
  const seen = new Set<number>()
  let bodies = 0

  function look(rows: readonly EntityPageRow[]): void {
    for (const { addedId, body } of rows) {
      if (body === null || body === undefined || seen.has(addedId)) continue
      seen.add(addedId)
      bodies++
      const { shape, dictionary } = codec.describe?.(body) ?? {}
      for (const [kind, id] of Object.entries({ shape, dictionary })) {
        if (id === undefined) continue
        const found = references.get(id)
        if (found === undefined) references.set(id, { kind, bodies: 1 })
        else found.bodies++
      }
      try {
        codec.decode(body)
      } catch (error) {
        const refersTo = [shape, dictionary].filter((id) => id !== undefined)
        // One that is above the codec's limit was recognised.
        if (!isLooseleafError(error, 'BODY_TOO_LARGE')) failures.push({ refersTo, error })
      }
    }
  }

  look(await sample.oldest())
  look(await sample.newest())
  return { bodies, references, failures }
}

/** Undefined where a shard does not answer, which may have what the others lack, and for a codec that refers to nothing. */
async function storedRows(
  shards: readonly Shard[],
  codec: Codec,
  call: CallOptions,
): Promise<readonly StoredRow[] | undefined> {
  if (!('definitions' in codec)) return undefined
  const { learn } = codec.definitions as CodecDefinitions
  try {
    const onShards = await Promise.all(
      shards.map(async ({ name, definitions }) => {
        const rows = await definitions.all(call).catch((error: unknown) => {
          if (isLooseleafError(error, 'NOT_MIGRATED')) return []
          throw error
        })
        return rows.map((row) => ({ shard: name, id: row.id, kind: row.kind, isWhole: learn(row) }))
      }),
    )
    return onShards.flat()
  } catch (error) {
    if (isOutage(error)) return undefined
    throw error
  }
}

function brokenOf(looks: readonly LookAtShard[], stored: readonly StoredRow[]): readonly BrokenDefinition[] {
  const rows = Map.groupBy(stored, ({ id }) => id)
  const references: References = new Map()
  for (const [id, { kind, bodies }] of looks.flatMap((look) => [...look.references])) {
    const sum = bodies + (references.get(id)?.bodies ?? 0)
    references.set(id, { kind, bodies: sum })
  }
  return Array.from(new Set([...references.keys(), ...rows.keys()]), (id) => {
    const own = rows.get(id) ?? []
    return {
      id,
      kind: references.get(id)?.kind ?? own[0]?.kind ?? '',
      damagedOn: own.filter(({ isWhole }) => !isWhole).map(({ shard }) => shard),
      isLost: !own.some(({ isWhole }) => isWhole),
      bodies: references.get(id)?.bodies ?? 0,
    }
  })
    .filter(({ isLost, damagedOn }) => isLost || damagedOn.length > 0)
    .toSorted((a, b) => b.bodies - a.bodies)
}

/** What is wrong with a definition and what to do, for people. */
export function brokenText(
  { id, kind, damagedOn, isLost, bodies }: BrokenDefinition,
  look: BodiesLook,
): { readonly about: string; readonly what: string; readonly todo: string } {
  const where = damagedOn.join(', ')
  const referring = `${bodies} of the ${look.bodies} bodies that were looked at refer to it${isLost ? ': they are BODY_UNKNOWN' : ''}`
  const what = damagedOn.length === 0 ? 'no shard that answers has it' : `its row is damaged on ${where}`
  const whole = damagedOn.length > 0 && isLost ? ', and no shard has it whole' : ''
  const first = damagedOn.length > 0 ? 'delete the damaged row; ' : ''
  return {
    about: `${kind} ${id.slice(0, 40)}`,
    what: `${what}${whole}; ${referring}`,
    todo: isLost
      ? `${first}put its row of looseleaf_codec back from a backup of any shard, before anything is deleted`
      : `${first}the next process that opens the store puts it back from another shard`,
  }
}
