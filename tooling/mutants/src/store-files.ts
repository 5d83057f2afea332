import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ROOT } from './targets.ts'

// State for later runs, in the git-ignored folder `.data`.

const pathOf = (name: string): string => join(ROOT, '.data/mutants', name)

export function readJson<T>(name: string): T | undefined {
  const path = pathOf(`${name}.json`)
  // Our programs wrote it.
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as T) : undefined
}

export function writeJson(name: string, value: object): void {
  const path = pathOf(`${name}.json`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, JSON.stringify(value))
}

/** Reads a file of lines. Each finding is appended at once, so that an aborted run loses none. */
export function readLines<T>(name: string): T[] {
  const path = pathOf(`${name}.jsonl`)
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as T] : []))
}

export function addLine(name: string, value: object): void {
  const path = pathOf(`${name}.jsonl`)
  mkdirSync(dirname(path), { recursive: true })
  appendFileSync(path, `${JSON.stringify(value)}\n`)
}
