import {
  countIn,
  isLooseleafError,
  type LooseleafError,
  parseObject,
  toObject,
  type CallOptions,
  type UpdatedPlace,
} from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { placeAt, shardAt } from '@looseleaf/protocol'
import { editTask } from './edit-task.ts'
import { REGISTRY_TASK } from './names.ts'

/** The consumers of a store, by name, each with where it began on each shard, in µs since 1970. */
export type Registry = ReadonlyMap<string, readonly number[]>

/** What one shard has of the registry. */
export async function readRegistry(
  context: EngineContext,
  shard: number,
  options: CallOptions,
): Promise<Registry> {
  return fromText((await shardAt(context, shard).tasks.load(REGISTRY_TASK, options))?.progress ?? '')
}

/**
 * Makes a consumer known to every shard, unless all of those that answer know it already. A new one needs all of them: it begins at one
 * moment.
 */
export async function register(
  context: EngineContext,
  consumer: string,
  from: 'beginning' | 'now',
  options: CallOptions,
): Promise<void> {
  const { shards } = context.driver
  const known = await Promise.allSettled(shards.map((_, shard) => readRegistry(context, shard, options)))
  const found = known.find((answer) => answer.status === 'fulfilled' && answer.value.has(consumer))
  const isOnAll = known.every((answer) => answer.status === 'rejected' || answer.value.has(consumer))
  if (found !== undefined && isOnAll) return
  const failure = known.find((answer) => answer.status === 'rejected')
  if (failure !== undefined) throw failure.reason
  const begun =
    found?.status === 'fulfilled'
      ? found.value.get(consumer)!
      : from === 'beginning'
        ? shards.map(() => 0)
        : await Promise.all(shards.map(({ entities }) => entities.raiseFloor(options)))
  const add = (text: string): string => {
    const registry = fromText(text)
    return registry.has(consumer) ? text : toText(new Map([...registry, [consumer, begun]]))
  }
  await Promise.all(shards.map((_, shard) => editTask(context, shard, REGISTRY_TASK, add, options)))
}

/**
 * Where a consumer begins on a shard, by any shard that knows it: one that was restored may have forgotten it. Undefined for one that was
 * dropped. Throws where no shard knows it that answers, and another one may.
 */
export async function beginningOf(
  context: EngineContext,
  consumer: string,
  shard: number,
  options: CallOptions,
): Promise<UpdatedPlace | undefined> {
  const { registries, failure } = await readRegistries(context, options)
  const begun = registries.find((registry) => registry.has(consumer))?.get(consumer)
  if (begun === undefined && failure !== undefined) throw failure
  return begun && placeAt(begun[shard] ?? 0)
}

export async function forget(
  context: EngineContext,
  consumer: string,
  shard: number,
  options: CallOptions,
): Promise<void> {
  const remove = (text: string): string =>
    toText(new Map([...fromText(text)].filter(([name]) => name !== consumer)))
  await editTask(context, shard, REGISTRY_TASK, remove, options)
}

/** All consumers that any shard knows that answers. Throws where none does. */
export async function consumerNames(
  context: EngineContext,
  options: CallOptions,
): Promise<readonly string[]> {
  const { registries } = await readRegistries(context, options)
  return [...new Set(registries.flatMap((registry) => [...registry.keys()]))].toSorted()
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

function fromText(text: string): Registry {
  const entries = Object.entries(parseObject(text) ?? {})
  return new Map(
    entries.map(([name, begun]) => {
      const list = toObject(begun) ?? {}
      return [name, Object.keys(list).map((shard) => countIn(list, shard))]
    }),
  )
}

function toText(registry: Registry): string {
  return JSON.stringify(Object.fromEntries(registry))
}
