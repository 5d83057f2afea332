import { isLooseleafError, LooseleafError, type CallOptions } from '@looseleaf/core'
import { countIn, parseObject, textIn, toObject } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import {
  placeAt,
  REGISTRY_TASK,
  requireNoMoves,
  shardAt,
  type FollowedPlace,
} from '@looseleaf/protocol/internal'
import { editWhenFree } from './edit-when-free.ts'

/** The registration of a consumer. A consumer that was dropped and started again has a new one. */
export interface Registration {
  /** Unique id of the registration. Each saved place carries it. */
  readonly incarnation: string
  /** Time of the registration in milliseconds since 1970, by the clock of the process. */
  readonly at: number
  /** First place on each shard, in µs since 1970. */
  readonly begun: readonly number[]
  /** Floor of each shard at the registration. The consumer never knew entities that were deleted before it. */
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

/**
 * Registers a consumer on every shard, unless every shard that answers knows it already. Returns its incarnation. A new consumer needs all
 * shards, so that it begins at the same moment on each. Throws `BAD_OPTION` for a new consumer without `from`, and `CONFLICT` while buckets move.
 */
export async function register(
  context: EngineContext,
  consumer: string,
  from: 'beginning' | 'now' | undefined,
  options: CallOptions,
): Promise<string> {
  const { shards } = context.driver
  const { registries, failure } = await readRegistries(context, options)
  const found = latest(registries.flatMap((registry) => registry.get(consumer) ?? []))
  const isOn = (registry: Registry): boolean => registry.get(consumer)?.incarnation === found?.incarnation
  if (found !== undefined && registries.every(isOn)) return found.incarnation
  if (failure !== undefined) throw failure
  await requireNoMoves(context, options)
  const begin = async (): Promise<Registration> => {
    const isFromBeginning = requireFrom(consumer, from) === 'beginning'
    const floors = await Promise.all(shards.map(({ entities }) => entities.raiseFloor(options)))
    const begun = isFromBeginning ? shards.map(() => 0) : floors
    return { incarnation: context.random.uuid(), at: context.time.now(), begun, floors }
  }
  let registration = found ?? (await begin())
  const put = (text: string): string => toText(new Map([...registryFromText(text), [consumer, registration]]))
  // If several processes register a new name at the same time, the first one on shard 0 wins, and the others adopt its registration.
  const putFirst = (text: string): string => {
    const existing = registryFromText(text).get(consumer)
    if (existing !== undefined) registration = found === undefined ? existing : latest([existing, found])!
    return put(text)
  }
  await editWhenFree(context, 0, REGISTRY_TASK, putFirst, options)
  await Promise.all(shards.slice(1).map((_, i) => editWhenFree(context, i + 1, REGISTRY_TASK, put, options)))
  // A move may have been announced meanwhile, before it could see this registration.
  try {
    await requireNoMoves(context, options)
  } catch (error) {
    if (!isLooseleafError(error, 'CONFLICT')) throw error
    // No process can have handled anything yet, since each comes here first.
    await Promise.all(shards.map((_, shard) => unregister(context, consumer, shard, options)))
    throw error
  }
  return registration.incarnation
}

/** There is no safe default: `beginning` might send everything once more, `now` might skip it. */
function requireFrom(consumer: string, from: 'beginning' | 'now' | undefined): 'beginning' | 'now' {
  if (from !== undefined) return from
  throw new LooseleafError(
    'BAD_OPTION',
    `The store has no consumer ${consumer} yet, and a new one needs the option from: 'beginning' hands it every stored entity first, 'now' only changes from now on.`,
  )
}

/**
 * Returns the place where an incarnation of a consumer begins on a shard. Asks all shards, because a restored one may have forgotten it.
 * Returns undefined if the consumer was dropped. Throws if no shard that answers knows it and another shard does not answer.
 */
export async function beginningOf(
  context: EngineContext,
  consumer: string,
  incarnation: string,
  shard: number,
  options: CallOptions,
): Promise<FollowedPlace | undefined> {
  const { registries, failure } = await readRegistries(context, options)
  const known = registries
    .map((registry) => registry.get(consumer))
    .find((registration) => registration?.incarnation === incarnation)
  if (known === undefined && failure !== undefined) throw failure
  return known && { ...placeAt(known.begun[shard] ?? 0), since: known.floors[shard] ?? 0 }
}

export async function unregister(
  context: EngineContext,
  consumer: string,
  shard: number,
  options: CallOptions,
): Promise<void> {
  const remove = (text: string): string =>
    toText(new Map([...registryFromText(text)].filter(([name]) => name !== consumer)))
  await editWhenFree(context, shard, REGISTRY_TASK, remove, options)
}

/** Returns all consumers known to the shards that answer, and the error of one that does not. Throws if no shard answers. */
export async function consumerNames(
  context: EngineContext,
  options: CallOptions,
): Promise<{
  readonly names: readonly string[]
  /** Time of the last registration of each, in milliseconds since 1970. */
  readonly registeredAt: ReadonlyMap<string, number>
  readonly failure: LooseleafError | undefined
}> {
  const { registries, failure } = await readRegistries(context, options)
  const names = [...new Set(registries.flatMap((registry) => [...registry.keys()]))].toSorted()
  const registeredAt = new Map(
    names.map((name) => [name, latest(registries.flatMap((registry) => registry.get(name) ?? []))?.at ?? 0]),
  )
  return { names, registeredAt, failure }
}

/** Reads the registries of the shards that answer, and the error of one that does not. Throws if no shard answers. */
async function readRegistries(
  context: EngineContext,
  options: CallOptions,
): Promise<{ readonly registries: readonly Registry[]; readonly failure: LooseleafError | undefined }> {
  const answers = await Promise.allSettled(
    context.driver.shards.map((_, shard) => readRegistry(context, shard, options)),
  )
  const registries = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const failure: unknown = answers.find((answer) => answer.status === 'rejected')?.reason
  if (failure === undefined) return { registries, failure }
  if (registries.length === 0 || !isLooseleafError(failure)) throw failure
  return { registries, failure }
}

/** Returns the latest registration of one name. A restored shard may have an older one. */
function latest(registrations: readonly Registration[]): Registration | undefined {
  return registrations.toSorted((a, b) => b.at - a.at)[0]
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
          begun: numbersOf('begun'),
          floors: numbersOf('floors'),
        },
      ]
    }),
  )
}

function toText(registry: Registry): string {
  return JSON.stringify(Object.fromEntries(registry))
}
