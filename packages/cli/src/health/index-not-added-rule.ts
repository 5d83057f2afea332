import type { Rule } from './facts.ts'

export const indexNotAddedRule: Rule = {
  name: 'index not added',
  // A deployment adds indexes before it starts the processes that query them.
  grade: 'look',
  see: 'Indexes on a live site',
  find: ({ configIndexes }) =>
    configIndexes.map(({ index, isInStore, differs }) => ({
      about: `index ${index}`,
      problem: isInStore
        ? `differs between the store and the config: ${differs.join('; ')}`
        : 'is in the config and not in the store',
      instruction: `${isInStore ? 'update the config of this check if it is outdated, or run: ' : ''}looseleaf index add ${index} --fill`,
    })),
}
