import { expect, test } from 'vitest'
import { sharesOf } from './profile.ts'

const frame = (functionName: string, url: string) => ({
  callFrame: { functionName, url, scriptId: '0', lineNumber: 1, columnNumber: 1 },
})

test('a profile charges built-in functions to their caller, except for garbage and writes to sockets, and leaves out idle time', () => {
  const at = 'file:///looseleaf'
  const nodes = [
    { id: 1, ...frame('(root)', ''), children: [2, 3, 8, 9] },
    { id: 2, ...frame('decode', `${at}/packages/codec/src/msgpack-read.ts`), children: [4] },
    { id: 3, ...frame('submit', `${at}/packages/core/src/tools/lane.ts`), children: [5, 6] },
    { id: 4, ...frame('utf8Slice', '') },
    {
      id: 5,
      ...frame('row', `${at}/node_modules/.pnpm/mysql2@3/node_modules/mysql2/lib/query.js`),
      children: [7],
    },
    { id: 6, ...frame('judge', `${at}/packages/index-engine/src/pages/judge-rows.ts`) },
    { id: 7, ...frame('writeBuffer', '') },
    { id: 8, ...frame('(garbage collector)', '') },
    { id: 9, ...frame('(idle)', '') },
  ]
  const samples = [2, 4, 3, 5, 6, 7, 8, 9]
  const timeDeltas = [10, 10, 10, 10, 10, 30, 20, 1000]
  expect(sharesOf({ nodes, samples, timeDeltas })).toEqual({
    bodies: 0.2,
    store: 0.1,
    mysql2: 0.1,
    'index engine': 0.1,
    socket: 0.3,
    garbage: 0.2,
  })
})
