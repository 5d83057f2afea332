import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { fetching, rooms, topFiles } from './feed-rooms.ts'
import { importsOf } from './imports-of.ts'
import { isTest, read, sourcesOf, workspacePackages } from './repository.ts'

const SRC = 'apps/feed/src'
const one = workspacePackages('apps').find(({ folder }) => folder === 'apps/feed')
if (one === undefined) throw new Error('apps/feed is not there.')
const paths = sourcesOf(one).map((path) => posix.relative(SRC, path))
const sources = paths.filter((path) => !isTest(path))
const roomOf = (path: string): string | undefined => (path.includes('/') ? path.split('/', 1)[0] : undefined)

test('the table of rooms has every folder of the feed, and every file beside them', () => {
  const found = new Set(sources.flatMap((path) => roomOf(path) ?? []))
  expect([...found].filter((room) => !(room in rooms))).toEqual([])
  expect(sources.filter((path) => roomOf(path) === undefined)).toEqual(topFiles)
})

test('each room of the feed imports only the rooms that its row names', () => {
  const forbidden = sources.flatMap((path) =>
    importsOf(read(`${SRC}/${path}`))
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier, line }) => ({ line, target: posix.join(posix.dirname(path), specifier) }))
      .filter(({ target }) => !mayImport(roomOf(path), target))
      .map(({ line, target }) => `${path}:${line} imports ${target}`),
  )
  expect(forbidden).toEqual([])
})

/** Returns true if a file of this room may import the target. Files beside the rooms may import all, and rooms none of them. */
function mayImport(room: string | undefined, target: string): boolean {
  const other = roomOf(target)
  if (room === undefined || room === other) return true
  return other !== undefined && rooms[room]!.includes(other)
}

test('a room may import itself and the rooms of its row, and no file beside the rooms', () => {
  expect(mayImport('http', 'http/session.ts')).toBe(true)
  expect(mayImport('http', 'domain/site/site.ts')).toBe(true)
  expect(mayImport('http', 'ui/frame/layout.tsx')).toBe(false)
  expect(mayImport('http', 'app.ts')).toBe(false)
  expect(mayImport(undefined, 'stage/stage.ts')).toBe(true)
})

test('the arrows of the table of rooms have no cycle', () => {
  const open = new Set(Object.keys(rooms))
  for (let before = -1; before !== open.size;) {
    before = open.size
    for (const room of open) if (rooms[room]!.every((other) => !open.has(other))) open.delete(room)
  }
  expect([...open]).toEqual([])
})

test('only the rooms that fetch ask other servers', () => {
  const found = sources
    .filter((path) => !fetching.includes(roomOf(path) ?? ''))
    .filter((path) => /\bfetch\(|'undici'|node:https?'/.test(withoutTypes(read(`${SRC}/${path}`))))
  expect(found).toEqual([])
})

/** Removes imports of types alone. */
function withoutTypes(text: string): string {
  return text.replace(/^import type .*$/gm, '')
}

test('the feed names no client of a database', () => {
  expect(paths.filter((path) => /mysql2|kysely/.test(read(`${SRC}/${path}`)))).toEqual([])
})

test('the domain of the feed knows neither fastify nor JSX', () => {
  const below = sources.filter((path) => ['kinds', 'domain', 'feeds', 'text'].includes(roomOf(path) ?? ''))
  expect(below.filter((path) => path.endsWith('.tsx'))).toEqual([])
  expect(
    below.filter((path) =>
      importsOf(read(`${SRC}/${path}`)).some(({ specifier }) => /fastify|preact/.test(specifier)),
    ),
  ).toEqual([])
})
