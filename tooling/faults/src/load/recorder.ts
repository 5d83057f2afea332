import { closeSync, openSync, writeSync } from 'node:fs'
import type { HistoryRecord } from '../history/records.ts'

/** Writes records so that SIGKILL loses none that was written: the kernel has each line when the call returns. */
export interface Recorder<Line = HistoryRecord> {
  write(record: Line): void
  close(): void
}

export function createRecorder<Line = HistoryRecord>(path: string): Recorder<Line> {
  const file = openSync(path, 'a', 0o600)
  return {
    write: (record) => void writeSync(file, `${JSON.stringify(record)}\n`),
    close: () => closeSync(file),
  }
}
