import { processName } from '@looseleaf/protocol'
import { countIn, parseObject } from '@looseleaf/core'
import { windowFromText, type TailWindow } from './tail-window.ts'

/** How far a tail is, as it is saved: for the next process to go on, and for others to look at. */
export interface TailRecord {
  readonly window: TailWindow
  /** Host and process of whoever saved it. */
  readonly worker: string
  /** Length of the gap of updates that it has not looked at, in milliseconds; and the same at the last save. */
  readonly behindMs: number
  readonly wasBehindMs: number
}

export function recordToText(window: TailWindow, wasBehindMs: number): string {
  const behindMs = behindOf(window)
  return JSON.stringify({ ...window, worker: processName, behindMs, wasBehindMs })
}

/** The record of a text that `recordToText` gave; undefined for any other. */
export function recordFromText(text: string): TailRecord | undefined {
  const window = windowFromText(text)
  if (window === undefined) return undefined
  const value = parseObject(text) ?? {}
  const { worker } = value
  return {
    window,
    worker: typeof worker === 'string' ? worker : '',
    behindMs: countIn(value, 'behindMs'),
    wasBehindMs: countIn(value, 'wasBehindMs'),
  }
}

/** What is left of the gap, in milliseconds: it is read from its newer end. */
export function behindOf({ gap }: TailWindow): number {
  return gap === undefined ? 0 : Math.max(0, Math.round((gap.before.updated - gap.since) / 1000))
}
