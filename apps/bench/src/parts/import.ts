import { loadData } from '../bulk/load-data.ts'
import { ENTRIES_PER_USER } from '../bench.ts'
import { usagePerCall } from '../measure/usage.ts'
import type { SideName } from '../sides/side-names.ts'
import type { Part } from './part.ts'

/** Sides whose `fill` is a realistic way to import. */
const importers: readonly SideName[] = ['looseleaf', 'hand-written', 'json', 'pongo']

export const importing: Part = {
  description: 'many entries into empty tables',
  async run(bench) {
    const entries = bench.scale.bulk
    const sides = bench.sidesOn('mariadb', 'postgres').filter(({ name }) => importers.includes(name))
    for (const side of sides)
      // A stage per side: the process reports its peak memory, which must be that of this filling.
      await bench.onStage({ sides: [side], entries, isEmpty: true }, async (stage) => {
        bench.progress(`${entries} entries by ${side.title}`)
        const { report, before, after } = await stage.fill(side.name)
        bench.addWork({
          scenario: 'import',
          // The hand-written side fills by multi-row INSERT, the way that manuals recommend.
          side: side.name === 'hand-written' ? 'multi-row INSERT' : side.name,
          entities: entries,
          seconds: report.seconds,
          clientCpuUs: report.clientCpu / entries,
          server: usagePerCall(before, after, entries),
          bytesPerEntity: stage.bytesPerEntity(side.name),
          memoryMiB: report.memoryMiB,
        })
      })
    const server = sides.some(({ name }) => name === 'looseleaf')
      ? await bench.serverOf('mariadb')
      : undefined
    if (server === undefined) return
    bench.progress(`${entries} entries by LOAD DATA`)
    const loaded = await loadData(server, entries, Math.max(1, entries / ENTRIES_PER_USER))
    if (loaded === undefined)
      return bench.leaveOut(
        'LOAD DATA: a server rejects files of its clients, which is the default of MySQL (`local_infile`).',
      )
    bench.addWork({
      scenario: 'import',
      side: 'LOAD DATA',
      entities: entries,
      seconds: loaded.seconds,
      clientCpuUs: loaded.clientCpu / entries,
      server: usagePerCall(loaded.before, loaded.after, entries),
    })
  },
}
