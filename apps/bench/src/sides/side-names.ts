export const sideNames = [
  'looseleaf',
  'entity-first',
  'shapes',
  'dictionary',
  'requests',
  'sampled',
  'every-span',
  'raised',
  'followed',
  'hand-written',
  'limit',
  'json',
  'pongo',
  'sqlite-looseleaf',
  'sqlite-hand-written',
] as const
export type SideName = (typeof sideNames)[number]
