import {
  countIn,
  isLooseleafError,
  LooseleafError,
  parseObject,
  toObject,
  type CallOptions,
} from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { placeAt, REGISTRY_TASK, shardAt, type FollowedPlace } from '@looseleaf/protocol'
import { editTask } from './edit-task.ts'
import { textIn } from './partition-record.ts'

/** A consumer as it was made known: one of the same name that was dropped before is another. */
export interface Registration {
  /** What no other registration has. Who works on the consumer has it, and each of its places. */
  readonly incarnation: string
  /** Milliseconds since 1970, by the clock of the process. */
  readonly at: number
  /** Where it begins on each shard, in µs since 1970. */
  readonly begun: readonly number[]
  /** The floor of each shard when it was registered: what was deleted before, it has never known. */
  readonly floors: readonly number[]
}

/** The consumers of a store, by name. */
export type Registry = ReadonlyMap<string, Registration>

/** What one shard has of the registry. */
export async function readRegistry(
  context: EngineContext,
  shard: number,
  options: CallOptions,
): Promise<Registry> {
  return registryFromText((await shardAt(context, shard).tasks.load(REGISTRY_TASK, options))?.progress ?? '')
}

/**
 * Makes a consumer known to every shard, unless all of those that answer know it already, and answers its incarnation. A new one needs all
 * of them: it begins at one moment. Throws `BAD_OPTION` for a new one without `from`.
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
  const begin = async (): Promise<Registration> => {
    const isAll = requireFrom(consumer, from) === 'beginning'
    const floors = await Promise.all(shards.map(({ entities }) => entities.raiseFloor(options)))
    const begun = isAll ? shards.map(() => 0) : floors
    return { incarnation: context.random.uuid(), at: context.time.now(), begun, floors }
  }
  let settled = found ?? (await begin())
  const put = (text: string): string => toText(new Map([...registryFromText(text), [consumer, settled]]))
  // Of several that register one new name at once the first on the first shard has registered it, and the others take what is there.
  const putFirst = (text: string): string => {
    const there = registryFromText(text).get(consumer)
    if (there !== undefined) settled = found === undefined ? there : latest([there, found])!
    return put(text)
  }
  await editTask(context, 0, REGISTRY_TASK, putFirst, options)
  await Promise.all(shards.slice(1).map((_, i) => editTask(context, i + 1, REGISTRY_TASK, put, options)))
  return settled.incarnation
}

/** Neither choice is safe to guess: one would send everything once more, the other would leave it out. */
function requireFrom(consumer: string, from: 'beginning' | 'now' | undefined): 'beginning' | 'now' {
  if (from !== undefined) return from
  throw new LooseleafError(
    'BAD_OPTION',
    `The store has no consumer ${consumer} yet, and a new one needs the option from: 'beginning' hands it every stored entity first, 'now' only changes from now on.`,
  )
}

/**
 * Where an incarnation of a consumer begins on a shard, by any shard that knows it: one that was restored may have forgotten it. Undefined for
 * one that was dropped. Throws where no shard knows it that answers, and another one may.
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

export async function forget(
  context: EngineContext,
  consumer: string,
  shard: number,
  options: CallOptions,
): Promise<void> {
  const remove = (text: string): string =>
    toText(new Map([...registryFromText(text)].filter(([name]) => name !== consumer)))
  await editTask(context, shard, REGISTRY_TASK, remove, options)
}

/** All consumers that any shard knows that answers, and why another one does not. Throws where none does. */
export async function consumerNames(
  context: EngineContext,
  options: CallOptions,
): Promise<{
  readonly names: readonly string[]
  /** When each was registered last, in milliseconds since 1970. */
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

/** What those shards have that answer, and why another one does not. Throws where none does. */
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

/** Of registrations of one name the last one. A shard that was restored may have an older one. */
function latest(some: readonly Registration[]): Registration | undefined {
  return some.toSorted((a, b) => b.at - a.at)[0]
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
