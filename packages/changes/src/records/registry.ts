import type { CallOptions } from '@looseleaf/core'
import { badOption } from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import {
  editWhenFree,
  latestRegistration,
  placeAt,
  readRegistries,
  registrationIn,
  REGISTRY_TASK,
  registryFromText,
  registryToText,
  type FollowedPlace,
  type Registration,
  type Registry,
  placeOnRemoved,
} from '@looseleaf/protocol/internal'

export interface RegisterOptions extends CallOptions {
  readonly from: 'beginning' | 'now' | undefined
  /** Names of the kinds of a new consumer; undefined for all entities. A known consumer keeps those of its registration. */
  readonly kinds?: readonly string[] | undefined
}

/**
 * Registers a consumer on every shard, unless every shard that answers knows it already. Returns its registration. A new consumer needs all
 * shards, so that it begins at the same moment on each. Throws `BAD_OPTION` for a new consumer without `from`.
 *
 * The name stands on every shard before any floor is raised, because a move may be about to delete rows at their source:
 * 1. The consumer raises the floor of the source, to begin there.
 * 2. A mover raises the floor, finds no consumer that has to read the rows, and deletes them.
 * 3. The consumer registers. It began before the deletion, so it would take no copies at the target, and miss the entities.
 */
export async function register(
  context: EngineContext,
  consumer: string,
  { from, kinds, ...options }: RegisterOptions,
): Promise<Registration> {
  const { shards } = context.driver
  for (;;) {
    const { registries, failure } = await readRegistries(context, options)
    const found = registrationIn(registries, consumer)
    const isOn = (registry: Registry): boolean => {
      const registered = registry.get(consumer)
      return registered?.incarnation === found?.incarnation && isComplete(registered)
    }
    if (found !== undefined && isComplete(found) && registries.every(isOn)) return found
    if (failure !== undefined) throw failure
    const isFromBeginning = isComplete(found) || requireFrom(consumer, from) === 'beginning'
    const fresh = { incarnation: context.random.uuid(), at: context.time.now(), kinds, begun: [], floors: [] }
    const named = await putEverywhere(context, consumer, found ?? fresh, found === undefined, options)
    if (isComplete(named)) return named
    // Every consumer is past the last change of a removed shard.
    const past = shards.map((_, shard) => placeOnRemoved(context, shard, undefined)?.since)
    const floors = await Promise.all(
      shards.map(({ entities }, shard) => past[shard] ?? entities.raiseFloor(options)),
    )
    const begun = isFromBeginning ? shards.map((_, shard) => past[shard] ?? 0) : floors
    const complete = await putEverywhere(context, consumer, { ...named, begun, floors }, false, options)
    // Otherwise another process has dropped the consumer, and begins to register it again.
    if (isComplete(complete)) return complete
  }
}

const isComplete = (registration: Registration | undefined): boolean =>
  registration !== undefined && registration.floors.length > 0

/**
 * Puts a registration on every shard. If several processes register a name at the same time, the first one on the leading shard wins, and
 * the others adopt its registration. Returns that of the leading shard.
 */
async function putEverywhere(
  context: EngineContext,
  consumer: string,
  registration: Registration,
  isNew: boolean,
  options: CallOptions,
): Promise<Registration> {
  const edit =
    (choose: (existing: Registration | undefined) => Registration) =>
    (text: string): string => {
      const registry = registryFromText(text)
      return registryToText(new Map([...registry, [consumer, choose(registry.get(consumer))]]))
    }
  let first = registration
  const putFirst = edit((existing) => {
    if (existing !== undefined) first = isNew ? existing : latestRegistration([existing, registration])!
    return first
  })
  const putOther = edit((existing) =>
    existing?.incarnation === first.incarnation ? latestRegistration([existing, first])! : first,
  )
  const [leading, ...others] = presentNumbers(context.driver)
  await editWhenFree(context, leading!, REGISTRY_TASK, putFirst, options)
  await Promise.all(others.map((shard) => editWhenFree(context, shard, REGISTRY_TASK, putOther, options)))
  return first
}

/** There is no safe default: `beginning` might send everything once more, `now` might skip it. */
function requireFrom(consumer: string, from: 'beginning' | 'now' | undefined): 'beginning' | 'now' {
  if (from !== undefined) return from
  throw badOption(
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
    .find((registration) => registration?.incarnation === incarnation && isComplete(registration))
  if (known === undefined && failure !== undefined) throw failure
  return known && { ...placeAt(known.begun[shard] ?? 0), since: known.floors[shard] ?? 0 }
}

/**
 * Deletes the registrations of a consumer that stand now, on every shard. A removal of a shard may copy one from a shard that still has it, so
 * all shards are looked at again. Another registration, which a process adds meanwhile, stays.
 */
export async function unregister(
  context: EngineContext,
  consumer: string,
  options: CallOptions,
): Promise<void> {
  const dropped = new Set(await incarnationsOf(context, consumer, options))
  const remove = (text: string): string => {
    const isKept = ([name, { incarnation }]: [string, Registration]): boolean =>
      name !== consumer || !dropped.has(incarnation)
    return registryToText(new Map([...registryFromText(text)].filter(isKept)))
  }
  for (let left = [...dropped]; left.length > 0;) {
    const removed = await Promise.allSettled(
      presentNumbers(context.driver).map((shard) =>
        editWhenFree(context, shard, REGISTRY_TASK, remove, options),
      ),
    )
    const failure = removed.find((answer) => answer.status === 'rejected')
    if (failure !== undefined) throw failure.reason
    left = (await incarnationsOf(context, consumer, options)).filter((incarnation) =>
      dropped.has(incarnation),
    )
  }
}

/** Returns the incarnations of a consumer on all shards. Throws if one does not answer. */
async function incarnationsOf(
  context: EngineContext,
  consumer: string,
  options: CallOptions,
): Promise<readonly string[]> {
  const { registries, failure } = await readRegistries(context, options)
  if (failure !== undefined) throw failure
  return registries.flatMap((registry) => registry.get(consumer)?.incarnation ?? [])
}
