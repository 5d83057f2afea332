import type { EntityId } from '@looseleaf/core'
import { badOption, badArgument, isVersion, isPlainObject, lowerId } from '@looseleaf/core/internal'

/**
 * An entity by its id, at any version; or at one version: an item, or `{ id, version }`. The version may be text, as in a form.
 */
export type Reference = EntityId | { readonly id: EntityId; readonly version: number | string }

interface ParsedReference {
  /** In lower case. */
  readonly id: EntityId
  readonly version: number | undefined
}

/** Checks a reference. Throws for an object without a valid version, because the check of the version must not be skipped by accident. */
export function parseReference(call: string, of: unknown): ParsedReference {
  if (typeof of === 'string') return { id: lowerId(of), version: undefined }
  if (typeof of !== 'object' || of === null || !('id' in of))
    throw badArgument(call, 'an id, or { id, version }', of)
  const id = lowerId(of.id)
  if (!('version' in of)) {
    throw badOption(
      `${call} takes an id, or { id, version }; got an id in an object without a version. Give the id alone to change whatever version is there.`,
    )
  }
  return { id, version: parseVersion(call, of.version) }
}

/** Splits a value, which may be an item, into id, version and properties. `givenId` overrides its id. The id is in lower case. */
export function parseValue(
  call: string,
  value: unknown,
  givenId?: EntityId,
): { readonly id: EntityId | undefined; readonly version: number | undefined; readonly properties: object } {
  if (!isPlainObject(value)) throw badArgument(call, 'an object of properties', value)
  const { id: ownId, version, ...properties } = value as { readonly id?: unknown; readonly version?: unknown }
  const id = ownId === undefined ? undefined : lowerId(ownId)
  if (id === undefined && 'version' in value) {
    throw badOption(
      `${call} got a value with a version and without an id. To write a copy of an item, leave out its version, too; to write the item itself, give both.`,
    )
  }
  return {
    id: givenId === undefined ? id : lowerId(givenId),
    version: 'version' in value ? parseVersion(call, version) : undefined,
    properties,
  }
}

function parseVersion(call: string, given: unknown): number {
  const version = typeof given === 'string' && /^[0-9]+$/.test(given) ? Number(given) : given
  if (typeof version === 'number' && isVersion(version)) return version
  throw badArgument(call, 'as the version a version of an entity', given)
}
