import { isLooseleafError, type CallOptions, type LooseleafError } from '@looseleaf/core'
import { countIn, parseObject, textIn, toObject } from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '../shards.ts'

/** Name of the task with the consumers of a store, which is the same on every shard. */
export const REGISTRY_TASK = 'consumers'

/** The registration of a consumer. A consumer that was dropped and started again has a new one. */
export interface Registration {
  /** Unique id of the registration. Each saved place carries it. */
  readonly incarnation: string
  /** Time of the registration in milliseconds since 1970, by the clock of the process. */
  readonly at: number
  /** Names of the kinds whose changes the consumer wants; undefined for those of all entities. */
  readonly kinds?: readonly string[] | undefined
  /** First place on each shard, in µs since 1970. */
  readonly begun: readonly number[]
  /**
   * Floor of each shard at the registration. The consumer never knew entities that were deleted before it. Empty until the name stands on
   * every shard.
   */
  readonly floors: readonly number[]
}

/** The consumers of a store, by name. */
export type Registry = ReadonlyMap<string, Registration>

export async function readRegistry(
  context: EngineContext,
  shard: number,
  options: CallOptions,
): Promise<Registry> {
  return registryFromText((await shardAt(context, shard).tasks.load(REGISTRY_TASK, options))?.progress ?? '')
}

export interface Registries {
  /** Registries of the shards that answer, in the order of the shards. */
  readonly registries: readonly Registry[]
  /** Error of a shard that does not answer. */
  readonly failure: LooseleafError | undefined
}

/** Reads the registries of the shards that answer, and the error of one that does not. Throws if no shard answers. */
export async function readRegistries(context: EngineContext, options: CallOptions): Promise<Registries> {
  const answers = await Promise.allSettled(
    presentNumbers(context.driver).map((shard) => readRegistry(context, shard, options)),
  )
  const registries = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const failure: unknown = answers.find((answer) => answer.status === 'rejected')?.reason
  if (failure === undefined) return { registries, failure }
  if (registries.length === 0 || !isLooseleafError(failure)) throw failure
  return { registries, failure }
}

/** Returns the consumers that some shard knows: one that joined later, or was restored, may lack some. */
export function joinedRegistry(registries: readonly Registry[]): Registry {
  const names = new Set(registries.flatMap((registry) => [...registry.keys()]))
  return new Map(Array.from(names, (name) => [name, registrationIn(registries, name) as Registration]))
}

/** Returns the latest registration of a name. A restored shard may have an older one. */
export function registrationIn(registries: readonly Registry[], name: string): Registration | undefined {
  return latestRegistration(registries.flatMap((registry) => registry.get(name) ?? []))
}

/** Returns the latest registration. If two have the same incarnation, returns the one that has floors. */
export function latestRegistration(registrations: readonly Registration[]): Registration | undefined {
  return registrations.toSorted((a, b) => b.at - a.at || b.floors.length - a.floors.length)[0]
}

export function registryFromText(text: string): Registry {
  return new Map(
    Object.entries(parseObject(text) ?? {}).map(([name, item]) => {
      const value = toObject(item) ?? {}
      const numbersOf = (list: string): number[] => {
        const found = toObject(value[list]) ?? {}
        return Object.keys(found).map((shard) => countIn(found, shard))
      }
      return [
        name,
        {
          incarnation: textIn(value, 'incarnation'),
          at: countIn(value, 'at'),
          kinds: namesIn(value['kinds']),
          begun: numbersOf('begun'),
          floors: numbersOf('floors'),
        },
      ]
    }),
  )
}

export function registryToText(registry: Registry): string {
  return JSON.stringify(Object.fromEntries(registry))
}

function namesIn(list: unknown): readonly string[] | undefined {
  return Array.isArray(list) ? list.filter((name) => typeof name === 'string') : undefined
}
