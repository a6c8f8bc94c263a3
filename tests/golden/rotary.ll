; slices and cat disappear in index arithmetic

; == mul_sub_mul_add
; loop [p0, p1, p2] kept 3 vector 2
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 f32
;   buffer b3 f32 written
;   access a0 b0 + p3 [p4, p5, 1]
;   access a1 b1 + 0 [0, p6, 1]
;   access a2 b0 + 0 [p7, p8, 1]
;   access a3 b2 + 0 [0, p9, 1]
;   access a4 b3 + p10 [p11, p12, 1]
;   access a5 b3 + 0 [p13, p14, 1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = op Mul %0 %1
;   %3 f32 = load a2
;   %4 f32 = load a3
;   %5 f32 = op Mul %3 %4
;   %6 f32 = op Add %2 %5
;   %7 f32 = op Mul %3 %1
;   %8 f32 = op Mul %0 %4
;   %9 f32 = op Sub %7 %8
;   %10 f32 = store a4 %6
;   %11 f32 = store a5 %9
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr i64, ptr %1, i64 2
  %10 = load i64, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 0
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 1
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr ptr, ptr %0, i64 2
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr ptr, ptr %0, i64 3
  %18 = load ptr, ptr %17, align 8
  %19 = getelementptr i64, ptr %1, i64 3
  %20 = load i64, ptr %19, align 8
  %21 = getelementptr float, ptr %12, i64 %20
  %22 = getelementptr i64, ptr %1, i64 4
  %23 = load i64, ptr %22, align 8
  %24 = getelementptr i64, ptr %1, i64 5
  %25 = load i64, ptr %24, align 8
  %26 = getelementptr i64, ptr %1, i64 6
  %27 = load i64, ptr %26, align 8
  %28 = getelementptr i64, ptr %1, i64 7
  %29 = load i64, ptr %28, align 8
  %30 = getelementptr i64, ptr %1, i64 8
  %31 = load i64, ptr %30, align 8
  %32 = getelementptr i64, ptr %1, i64 9
  %33 = load i64, ptr %32, align 8
  %34 = getelementptr i64, ptr %1, i64 10
  %35 = load i64, ptr %34, align 8
  %36 = getelementptr float, ptr %18, i64 %35
  %37 = getelementptr i64, ptr %1, i64 11
  %38 = load i64, ptr %37, align 8
  %39 = getelementptr i64, ptr %1, i64 12
  %40 = load i64, ptr %39, align 8
  %41 = getelementptr i64, ptr %1, i64 13
  %42 = load i64, ptr %41, align 8
  %43 = getelementptr i64, ptr %1, i64 14
  %44 = load i64, ptr %43, align 8
  %45 = add i64 %10, 4095
  %46 = lshr i64 %45, 12
  %47 = urem i64 %2, %46
  %48 = udiv i64 %2, %46
  %49 = urem i64 %48, %8
  %50 = udiv i64 %48, %8
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %226, %tail.end ]
  %51 = phi i64 [ %50, %work ], [ %225, %tail.end ]
  %52 = phi i64 [ %49, %work ], [ %223, %tail.end ]
  %53 = phi i64 [ %47, %work ], [ %219, %tail.end ]
  %54 = icmp slt i64 %task1, %3
  br i1 %54, label %task, label %task.end

task:                                             ; preds = %task.head
  %55 = mul i64 %51, %23
  %56 = getelementptr float, ptr %21, i64 %55
  %57 = mul i64 %51, %29
  %58 = getelementptr float, ptr %12, i64 %57
  %59 = mul i64 %51, %38
  %60 = getelementptr float, ptr %36, i64 %59
  %61 = mul i64 %51, %42
  %62 = getelementptr float, ptr %18, i64 %61
  %63 = mul i64 %52, %25
  %64 = getelementptr float, ptr %56, i64 %63
  %65 = mul i64 %52, %27
  %66 = getelementptr float, ptr %14, i64 %65
  %67 = mul i64 %52, %31
  %68 = getelementptr float, ptr %58, i64 %67
  %69 = mul i64 %52, %33
  %70 = getelementptr float, ptr %16, i64 %69
  %71 = mul i64 %52, %40
  %72 = getelementptr float, ptr %60, i64 %71
  %73 = mul i64 %52, %44
  %74 = getelementptr float, ptr %62, i64 %73
  %75 = mul i64 %53, 4096
  %76 = add i64 %75, 4096
  %77 = call i64 @llvm.smin.i64(i64 %76, i64 %10)
  %78 = sub i64 %77, %75
  %79 = and i64 %78, -32
  %80 = add i64 %75, %79
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %75, %task ], [ %188, %vector ]
  %81 = icmp slt i64 %vector2, %80
  br i1 %81, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %82 = mul i64 %vector2, 1
  %83 = getelementptr float, ptr %64, i64 %82
  %84 = load <8 x float>, ptr %83, align 4
  %85 = mul i64 %vector2, 1
  %86 = getelementptr float, ptr %64, i64 %85
  %87 = getelementptr float, ptr %86, i64 8
  %88 = load <8 x float>, ptr %87, align 4
  %89 = mul i64 %vector2, 1
  %90 = getelementptr float, ptr %64, i64 %89
  %91 = getelementptr float, ptr %90, i64 16
  %92 = load <8 x float>, ptr %91, align 4
  %93 = mul i64 %vector2, 1
  %94 = getelementptr float, ptr %64, i64 %93
  %95 = getelementptr float, ptr %94, i64 24
  %96 = load <8 x float>, ptr %95, align 4
  %97 = mul i64 %vector2, 1
  %98 = getelementptr float, ptr %66, i64 %97
  %99 = load <8 x float>, ptr %98, align 4
  %100 = mul i64 %vector2, 1
  %101 = getelementptr float, ptr %66, i64 %100
  %102 = getelementptr float, ptr %101, i64 8
  %103 = load <8 x float>, ptr %102, align 4
  %104 = mul i64 %vector2, 1
  %105 = getelementptr float, ptr %66, i64 %104
  %106 = getelementptr float, ptr %105, i64 16
  %107 = load <8 x float>, ptr %106, align 4
  %108 = mul i64 %vector2, 1
  %109 = getelementptr float, ptr %66, i64 %108
  %110 = getelementptr float, ptr %109, i64 24
  %111 = load <8 x float>, ptr %110, align 4
  %112 = fmul <8 x float> %84, %99
  %113 = fmul <8 x float> %88, %103
  %114 = fmul <8 x float> %92, %107
  %115 = fmul <8 x float> %96, %111
  %116 = mul i64 %vector2, 1
  %117 = getelementptr float, ptr %68, i64 %116
  %118 = load <8 x float>, ptr %117, align 4
  %119 = mul i64 %vector2, 1
  %120 = getelementptr float, ptr %68, i64 %119
  %121 = getelementptr float, ptr %120, i64 8
  %122 = load <8 x float>, ptr %121, align 4
  %123 = mul i64 %vector2, 1
  %124 = getelementptr float, ptr %68, i64 %123
  %125 = getelementptr float, ptr %124, i64 16
  %126 = load <8 x float>, ptr %125, align 4
  %127 = mul i64 %vector2, 1
  %128 = getelementptr float, ptr %68, i64 %127
  %129 = getelementptr float, ptr %128, i64 24
  %130 = load <8 x float>, ptr %129, align 4
  %131 = mul i64 %vector2, 1
  %132 = getelementptr float, ptr %70, i64 %131
  %133 = load <8 x float>, ptr %132, align 4
  %134 = mul i64 %vector2, 1
  %135 = getelementptr float, ptr %70, i64 %134
  %136 = getelementptr float, ptr %135, i64 8
  %137 = load <8 x float>, ptr %136, align 4
  %138 = mul i64 %vector2, 1
  %139 = getelementptr float, ptr %70, i64 %138
  %140 = getelementptr float, ptr %139, i64 16
  %141 = load <8 x float>, ptr %140, align 4
  %142 = mul i64 %vector2, 1
  %143 = getelementptr float, ptr %70, i64 %142
  %144 = getelementptr float, ptr %143, i64 24
  %145 = load <8 x float>, ptr %144, align 4
  %146 = fmul <8 x float> %118, %133
  %147 = fmul <8 x float> %122, %137
  %148 = fmul <8 x float> %126, %141
  %149 = fmul <8 x float> %130, %145
  %150 = fadd <8 x float> %112, %146
  %151 = fadd <8 x float> %113, %147
  %152 = fadd <8 x float> %114, %148
  %153 = fadd <8 x float> %115, %149
  %154 = fmul <8 x float> %118, %99
  %155 = fmul <8 x float> %122, %103
  %156 = fmul <8 x float> %126, %107
  %157 = fmul <8 x float> %130, %111
  %158 = fmul <8 x float> %84, %133
  %159 = fmul <8 x float> %88, %137
  %160 = fmul <8 x float> %92, %141
  %161 = fmul <8 x float> %96, %145
  %162 = fsub <8 x float> %154, %158
  %163 = fsub <8 x float> %155, %159
  %164 = fsub <8 x float> %156, %160
  %165 = fsub <8 x float> %157, %161
  %166 = mul i64 %vector2, 1
  %167 = getelementptr float, ptr %72, i64 %166
  store <8 x float> %150, ptr %167, align 4
  %168 = mul i64 %vector2, 1
  %169 = getelementptr float, ptr %72, i64 %168
  %170 = getelementptr float, ptr %169, i64 8
  store <8 x float> %151, ptr %170, align 4
  %171 = mul i64 %vector2, 1
  %172 = getelementptr float, ptr %72, i64 %171
  %173 = getelementptr float, ptr %172, i64 16
  store <8 x float> %152, ptr %173, align 4
  %174 = mul i64 %vector2, 1
  %175 = getelementptr float, ptr %72, i64 %174
  %176 = getelementptr float, ptr %175, i64 24
  store <8 x float> %153, ptr %176, align 4
  %177 = mul i64 %vector2, 1
  %178 = getelementptr float, ptr %74, i64 %177
  store <8 x float> %162, ptr %178, align 4
  %179 = mul i64 %vector2, 1
  %180 = getelementptr float, ptr %74, i64 %179
  %181 = getelementptr float, ptr %180, i64 8
  store <8 x float> %163, ptr %181, align 4
  %182 = mul i64 %vector2, 1
  %183 = getelementptr float, ptr %74, i64 %182
  %184 = getelementptr float, ptr %183, i64 16
  store <8 x float> %164, ptr %184, align 4
  %185 = mul i64 %vector2, 1
  %186 = getelementptr float, ptr %74, i64 %185
  %187 = getelementptr float, ptr %186, i64 24
  store <8 x float> %165, ptr %187, align 4
  %188 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %80, %vector.end ], [ %216, %tail ]
  %189 = icmp slt i64 %tail3, %77
  br i1 %189, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %190 = sub i64 %77, %tail3
  %191 = call i64 @llvm.umin.i64(i64 %190, i64 8)
  %192 = trunc i64 %191 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %192, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %193 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %194 = mul i64 %tail3, 1
  %195 = getelementptr float, ptr %64, i64 %194
  %196 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %195, i32 4, <8 x i1> %193, <8 x float> zeroinitializer)
  %197 = mul i64 %tail3, 1
  %198 = getelementptr float, ptr %66, i64 %197
  %199 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %198, i32 4, <8 x i1> %193, <8 x float> zeroinitializer)
  %200 = fmul <8 x float> %196, %199
  %201 = mul i64 %tail3, 1
  %202 = getelementptr float, ptr %68, i64 %201
  %203 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %202, i32 4, <8 x i1> %193, <8 x float> zeroinitializer)
  %204 = mul i64 %tail3, 1
  %205 = getelementptr float, ptr %70, i64 %204
  %206 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %205, i32 4, <8 x i1> %193, <8 x float> zeroinitializer)
  %207 = fmul <8 x float> %203, %206
  %208 = fadd <8 x float> %200, %207
  %209 = fmul <8 x float> %203, %199
  %210 = fmul <8 x float> %196, %206
  %211 = fsub <8 x float> %209, %210
  %212 = mul i64 %tail3, 1
  %213 = getelementptr float, ptr %72, i64 %212
  call void @llvm.masked.store.v8f32.p0(<8 x float> %208, ptr %213, i32 4, <8 x i1> %193)
  %214 = mul i64 %tail3, 1
  %215 = getelementptr float, ptr %74, i64 %214
  call void @llvm.masked.store.v8f32.p0(<8 x float> %211, ptr %215, i32 4, <8 x i1> %193)
  %216 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %217 = add i64 %53, 1
  %218 = icmp eq i64 %217, %46
  %219 = select i1 %218, i64 0, i64 %217
  %220 = zext i1 %218 to i64
  %221 = add i64 %52, %220
  %222 = icmp eq i64 %221, %8
  %223 = select i1 %222, i64 0, i64 %221
  %224 = zext i1 %222 to i64
  %225 = add i64 %51, %224
  %226 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
