import { defineIndex } from '@looseleaf/index-engine'

export const byGroup = defineIndex('by_group', { properties: { group: 'string' }, shardOn: 'group' })
export const byName = defineIndex('by_name', {
  properties: { name: 'string' },
  shardOn: 'name',
  unique: true,
})
export const handOverIndexes = [byGroup, byName]

/** Factor by which waits of all processes are shorter. */
export const SPEED = 10
export const LEASE_MS = 3_000

/** Death of a mover: after the hand-over of a group, so many milliseconds after the answer. */
export interface Death {
  readonly group: number
  readonly delayMs: number
}

export interface HandOverConfig {
  readonly role: 'write' | 'move' | 'repair'
  readonly urls: readonly string[]
  /** Entities of the writers, by caller. */
  readonly ids: readonly (readonly string[])[]
  /** Number of the writer, from 1. Later writers give greater numbers to their states. */
  readonly turn: number
  readonly from: number
  readonly to: number
  readonly death?: Death | undefined
}

export type HandOverRecord =
  /** A write begins, or was acknowledged. */
  | { readonly kind: 'begun' | 'acknowledged'; readonly id: string; readonly state: number }
  | { readonly kind: 'wrong'; readonly message: string }
