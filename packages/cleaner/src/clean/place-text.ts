import { isBytes, type KeyValue } from '@looseleaf/core/internal'
import type { IndexPlace } from '@looseleaf/protocol/internal'

/** Serializes a place in an index table, for the progress of a task. */
export function placeToText({ key, entityId }: IndexPlace): string {
  return JSON.stringify([...key, entityId].map(valueToJson))
}

/** Parses the text of `placeToText`. Returns undefined for any other text. */
export function placeFromText(text: string): IndexPlace | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    if (!Array.isArray(parsed)) return undefined
    const values = parsed.map(valueFromJson)
    const entityId = values.pop()
    return isBytes(entityId) ? { key: values, entityId } : undefined
  } catch {
    return undefined
  }
}

function valueToJson(value: KeyValue): unknown {
  if (isBytes(value)) return { bytes: Buffer.from(value).toString('base64') }
  return typeof value === 'bigint' ? { integer: String(value) } : value
}

function valueFromJson(value: unknown): KeyValue {
  if (typeof value === 'number') return value
  const { bytes, integer } = value as { bytes?: unknown; integer?: unknown }
  if (typeof bytes === 'string') return Buffer.from(bytes, 'base64')
  if (typeof integer === 'string') return BigInt(integer)
  throw new TypeError('Not a key value.')
}
