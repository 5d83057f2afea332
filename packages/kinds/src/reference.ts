import {
  badArgument,
  isVersion,
  LooseleafError,
  parseId,
  type EntityId,
  isPlainObject,
} from '@looseleaf/core'

/**
 * Which entity is meant: by its id, whatever its version, or as it was at one version, which a form may have carried as text.
 * An item that was read is one.
 */
export type Reference = EntityId | { readonly id: EntityId; readonly version: number | string }

interface Taken {
  readonly id: EntityId
  readonly version: number | undefined
}

/** Throws for a version that is there and is none: what was to protect an edit must not switch itself off. */
export function takeReference(call: string, of: unknown): Taken {
  if (typeof of === 'string') {
    parseId(of)
    return { id: of, version: undefined }
  }
  if (typeof of !== 'object' || of === null || !('id' in of))
    throw badArgument(call, 'an id, or { id, version }', of)
  parseId(of.id)
  if (!('version' in of)) {
    throw new LooseleafError(
      'BAD_OPTION',
      `${call} takes an id, or { id, version }; got an id in an object without a version. Give the id alone to change whatever version is there.`,
    )
  }
  // `parseId` has seen that it is a string.
  return { id: of.id as EntityId, version: takeVersion(call, of.version) }
}

/** The properties of a value, apart from the id and the version that it may have as an item that was read. */
export function takeValue(
  call: string,
  value: unknown,
): { readonly id: EntityId | undefined; readonly version: number | undefined; readonly properties: object } {
  if (!isPlainObject(value)) throw badArgument(call, 'an object of properties', value)
  const { id, version, ...properties } = value as { readonly id?: unknown; readonly version?: unknown }
  if (id !== undefined) parseId(id)
  else if ('version' in value) throw badArgument(call, 'with a version the id that it is of', id)
  return {
    id: id as EntityId | undefined,
    version: 'version' in value ? takeVersion(call, version) : undefined,
    properties,
  }
}

function takeVersion(call: string, given: unknown): number {
  const version = typeof given === 'string' && /^[0-9]+$/.test(given) ? Number(given) : given
  if (typeof version === 'number' && isVersion(version)) return version
  throw badArgument(call, 'as the version that of an entity as it was read', given)
}
