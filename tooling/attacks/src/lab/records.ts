import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'

/** Writes records that survive SIGKILL: the kernel has each line when the call returns. */
export interface Recorder<Line> {
  write(record: Line): void
  close(): void
}

export function createRecorder<Line>(path: string): Recorder<Line> {
  const file = openSync(path, 'a', 0o600)
  return {
    write: (record) => void writeSync(file, `${JSON.stringify(record)}\n`),
    close: () => closeSync(file),
  }
}

/** Reads records. A killed process may leave half a line at the end, or no file. */
export function readRecords<Line>(path: string): Line[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n')
  lines.pop()
  // Written by our own processes.
  return lines.map((line) => JSON.parse(line) as Line)
}

/** Returns microseconds of the monotonic clock, which all processes of a machine share. */
export function moment(): number {
  return Number(process.hrtime.bigint()) / 1_000
}
