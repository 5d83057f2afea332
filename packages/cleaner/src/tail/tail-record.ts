import { processName } from '@looseleaf/protocol/internal'
import { countsIn, parseObject, textIn } from '@looseleaf/core/internal'
import { windowFromText, type TailWindow } from './tail-window.ts'

/** Saved progress of a tail, for the next process that follows the shard and for reports. */
export interface TailRecord {
  readonly window: TailWindow
  /** Host and process id of the last process that saved the record. */
  readonly worker: string
  /** Length of the gap of unread updates, in milliseconds. */
  readonly behindMs: number
  /** `behindMs` at the save before. */
  readonly wasBehindMs: number
}

export function recordToText(window: TailWindow, wasBehindMs: number): string {
  const behindMs = behindOf(window)
  return JSON.stringify({ ...window, worker: processName, behindMs, wasBehindMs })
}

/** Parses the text of `recordToText`. Returns undefined for any other text. */
export function recordFromText(text: string): TailRecord | undefined {
  const window = windowFromText(text)
  if (window === undefined) return undefined
  // A text with a window is an object.
  const value = parseObject(text)!
  return { window, worker: textIn(value, 'worker'), ...countsIn(value, ['behindMs', 'wasBehindMs']) }
}

/** Returns the length of the gap in milliseconds. */
export function behindOf({ gap }: TailWindow): number {
  return gap === undefined ? 0 : Math.max(0, Math.round((gap.before.updated - gap.since) / 1000))
}
