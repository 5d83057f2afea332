export const partNames = [
  'calls',
  'callers',
  'processes',
  'bags',
  'network',
  'rates',
  'entities',
  'shards',
  'indexes',
  'sqlite',
  'import',
  'build',
  'sweep',
  'changes',
  'observing',
  'profile',
] as const
export type PartName = (typeof partNames)[number]
