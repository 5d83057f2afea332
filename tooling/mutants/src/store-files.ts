import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ROOT } from './targets.ts'

// What runs leave for the next ones: in `.data`, which is git-ignored.

const pathOf = (name: string): string => join(ROOT, '.data/mutants', name)

export function readJson<T>(name: string): T | undefined {
  const path = pathOf(`${name}.json`)
  // Programs of ours wrote it.
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as T) : undefined
}

export function writeJson(name: string, value: object): void {
  const path = pathOf(`${name}.json`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, JSON.stringify(value))
}

/** The lines of a file to which each finding is added as it comes, so that nothing is lost when the run is cut off. */
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
