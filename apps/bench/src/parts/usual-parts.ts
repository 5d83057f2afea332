import type { Part } from './part.ts'
import { usualPart } from './usual.ts'

export const callers: Part = usualPart({
  description: 'the usual calls with fewer and with more callers',
  stages: ({ sidesOn }) => [{ sides: sidesOn('mariadb', 'postgres') }],
  cells: ({ scale }) => scale.callers.map((count) => ({ callers: count })),
})

export const processes: Part = usualPart({
  description: 'the usual calls from one, two and four client processes',
  scenarios: ['get', 'page', 'insert'],
  stages: ({ sidesOn, scale }) => [
    { sides: sidesOn('mariadb', 'postgres'), processes: Math.max(...scale.processes) },
  ],
  cells: ({ scale }) => scale.processes.map((count) => ({ processes: count })),
})

export const bags: Part = usualPart({
  description: 'the usual calls with small and large bags',
  scenarios: ['get', 'page', 'insert'],
  stages: ({ sidesOn, scale }) => scale.bags.map((bag) => ({ sides: sidesOn('mariadb', 'postgres'), bag })),
})

/** Multiple of the usual seconds: a queue that grows shows only after a while. */
const TIMES_LONGER = 3

export const rates: Part = usualPart({
  description: 'times of calls at fixed rates, from when each was due',
  scenarios: ['page', 'mixed'],
  stages: ({ sidesOn }) => [{ sides: sidesOn('mariadb', 'postgres') }],
  cells: ({ scale }) => scale.rates.map((rate) => ({ rate, seconds: scale.seconds * TIMES_LONGER })),
})

export const entities: Part = usualPart({
  description: 'gets and pages as the data grow',
  scenarios: ['get', 'page', 'insert'],
  stages: ({ sidesOn, scale }) => scale.growth.map((entries) => ({ sides: sidesOn('mariadb'), entries })),
})

export const shards: Part = usualPart({
  description: 'the usual calls as shards are added, all on this machine',
  scenarios: ['get', 'page', 'insert'],
  stages: ({ sidesOn, scale }) =>
    scale.growthShards.map((count) => ({ sides: sidesOn('mariadb'), shards: count })),
})

export const indexes: Part = usualPart({
  description: 'inserts and updates as indexes are added',
  scenarios: ['insert', 'update'],
  stages: ({ sidesOn, scale }) =>
    scale.growthIndexes.map((layout) => ({ sides: sidesOn('mariadb', 'postgres'), layout })),
})

export const sqlite: Part = usualPart({
  description: 'the usual calls on SQLite, with 64 callers and with one',
  scenarios: ['get', 'getMany', 'page', 'count', 'insert', 'put', 'update', 'delete'],
  stages: ({ sidesOn }) => [{ sides: sidesOn('sqlite') }],
  cells: () => [{ callers: 64 }, { callers: 1 }],
})
