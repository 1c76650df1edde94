// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// Attributes of a TNEF stream (MS-OXTNEF, section 2.1.3.2), and MAPI properties and their
// types within some of them.
const (
	tnefSignature      = 0x223e9f78
	tnefBody           = 0x0002800c
	tnefCodePage       = 0x00069007
	tnefProperties     = 0x00069003
	tnefAttachment     = 0x00069002 // begins one
	tnefTitle          = 0x00018010
	tnefAttachmentMAPI = 0x00069005

	mapiBody, mapiHTML, mapiFileName     = 0x1000, 0x1013, 0x3707
	mapiString8, mapiUnicode, mapiBinary = 0x1e, 0x1f, 0x102
)

// readTNEF reads winmail.dat: the names of the files in it, and the letter where no other
// part shows one, but not one in compressed RTF alone. It reports whether it is one.
func (f *Featurizer) readTNEF(data []byte) bool {
	if len(data) < 6 || binary.LittleEndian.Uint32(data) != tnefSignature {
		f.defect("winmail.dat")
		return false
	}
	label := "windows-1252"
	var plain, list []byte
	var files []string
	// A level, an attribute, its length, the value, a checksum.
	for data = data[6:]; len(data) >= 9; {
		id, length := binary.LittleEndian.Uint32(data[1:]), int64(binary.LittleEndian.Uint32(data[5:]))
		data = data[9:]
		value := data[:min(length, int64(len(data)))]
		data = data[min(length+2, int64(len(data))):]
		switch {
		case id == tnefCodePage && len(value) >= 4:
			label = codePage(int(binary.LittleEndian.Uint32(value)))
		case id == tnefBody:
			plain = value
		case id == tnefProperties:
			list = value
		case id == tnefAttachment && len(files) < f.MaxParts:
			files = append(files, "")
		case id == tnefTitle && len(files) > 0:
			files[len(files)-1] = string(value)
		case id == tnefAttachmentMAPI && len(files) > 0:
			if name := f.property(value, mapiFileName, label); len(name) > 0 {
				files[len(files)-1] = string(name)
			}
		}
	}
	for _, name := range files {
		f.attach(&part{name: name})
	}
	if f.body.shown > 0 {
		return true
	}
	if page := f.property(list, mapiHTML, label); len(page) > 0 {
		f.showDecoded(page, "text/html")
	} else if text := f.property(list, mapiBody, label); len(text) > 0 {
		f.showDecoded(text, "text/plain")
	} else if len(plain) > 0 {
		f.showDecoded(f.decodeCharset(plain, label, false), "text/plain")
	}
	return true
}

// property returns the value of a MAPI property in a list (MS-OXTNEF, section 2.1.3.4), a
// string in UTF-8. The place is found by the tag and the number of values, 1, so that no
// damage before it matters.
func (f *Featurizer) property(list []byte, id uint16, label string) []byte {
	for _, kind := range [...]uint16{mapiUnicode, mapiString8, mapiBinary} {
		tag := [8]byte{byte(kind), byte(kind >> 8), byte(id), byte(id >> 8), 1}
		_, value, found := bytes.Cut(list, tag[:])
		if !found || len(value) < 4 {
			continue
		}
		length := int64(binary.LittleEndian.Uint32(value))
		value = value[4:min(4+length, int64(len(value)), int64(4*f.MaxText))]
		if kind == mapiUnicode {
			label = "utf-16le"
		}
		return bytes.TrimRight(f.decodeCharset(value, label, false), "\x00")
	}
	return nil
}

// codePage names the charset of a Windows code page.
func codePage(number int) string {
	if name, ok := map[int]string{932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5", 65001: "utf-8"}[number]; ok {
		return name
	}
	return "windows-" + strconv.Itoa(number)
}
