import { LooseleafError } from '@looseleaf/core'
import { describeKind } from '@looseleaf/core/internal'

export function refuse(index: string, expected: string, got: unknown): never {
  throw new LooseleafError('BAD_INDEX', `Index ${index} ${expected}; got ${describeKind(got)}.`)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function clip(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
