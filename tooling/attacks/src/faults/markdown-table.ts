export interface Column {
  readonly title: string
  readonly align: 'left' | 'right'
}

/** Returns a Markdown table whose columns are aligned in the source too. */
export function markdownTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ title }, i) =>
    Math.max(3, title.length, ...rows.map((row) => (row[i] ?? '').length)),
  )
  const line = (cells: readonly string[]): string =>
    `| ${cells
      .map((cell, i) => {
        const width = widths[i] ?? 0
        return columns[i]?.align === 'right' ? cell.padStart(width) : cell.padEnd(width)
      })
      .join(' | ')} |`
  const rule = columns.map(({ align }, i) => {
    const dashes = '-'.repeat(widths[i] ?? 3)
    return align === 'right' ? `${dashes.slice(1)}:` : dashes
  })
  return [line(columns.map(({ title }) => title)), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n')
}
